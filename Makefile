# Tessera.  `make` builds build/tsrc and build/libtessera.a; `make help` lists the targets.
#
# Variables: BUILD (the build folder), MODE=debug|release, SANITIZE=1 (address, undefined, leak; its own folder),
# STATIC=1 (libLLVM linked into tsrc), CC, LLVM_CONFIG, PREFIX, V=1 (show commands), ONLY=text (tests, accept, bench).

CC          ?= cc
ifeq ($(origin CC),default)
CC          := gcc
endif
LLVM_CONFIG ?= llvm-config-19
PREFIX      ?= /usr/local
PYTHON      ?= /usr/bin/python3
MODE        ?= debug
VERSION     := $(shell sed -n 's/^.define TSR_VERSION_STRING "\(.*\)"/\1/p' runtime/tsr.h)

ifdef SANITIZE
BUILD       ?= build-asan
else
BUILD       ?= build
endif
GEN         := $(BUILD)/gen
OBJ         := $(BUILD)/obj

COMMA       := ,
HASH        := \#

# package=what shows that it is there: a command, or a header (with a '.')
PACKAGES      := gcc=gcc libc6-dev=stdio.h make=make llvm-19-dev=$(LLVM_CONFIG) re2c=re2c lemon=lemon \
                 libminizip-dev=minizip/unzip.h zlib1g-dev=zlib.h
BENCH_PACKAGES := libopenblas0-openmp libblis4-openmp libdnnl2 libdnnl-dev libxsmm-dev
TEST_PACKAGES := python3 python3-numpy python3-torch libopenblas0 llvm-19-tools valgrind gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user

WARNINGS    := -Wall -Wextra -Wswitch-enum -Werror -Werror=implicit-function-declaration
OPT_debug   := -O1 -g
OPT_release := -O2
CFLAGS      ?= $(OPT_$(MODE))
LLVM_PARTS  := x86 aarch64 nvptx passes irreader linker
Q           := $(if $(V),,@)
SAY         := $(if $(findstring s,$(firstword -$(MAKEFLAGS)))$(V),@:,@echo)
STANDARD    := -std=c11 -D_GNU_SOURCE
ifdef SANITIZE
SAN         := -fsanitize=address,undefined,leak -fno-sanitize-recover=all -fno-omit-frame-pointer -DTSR_HOSTILE
endif

COMPILER_SRC := $(wildcard compiler/*/*.c)
COMPILER_MAIN := $(wildcard compiler/main.c)
LEXERS      := $(patsubst grammar/%.re,$(GEN)/%_lex.c,$(wildcard grammar/*.re))
PARSERS     := $(patsubst grammar/%.y,$(GEN)/%.c,$(wildcard grammar/*.y))
RUNTIME_SRC := $(wildcard runtime/*.c)
UNIT_SRC    := $(wildcard tests/unit/*.c)

COMPILER_OBJ := $(COMPILER_SRC:%.c=$(OBJ)/%.o)
GEN_OBJ     := $(patsubst $(GEN)/%.c,$(OBJ)/gen/%.o,$(LEXERS) $(PARSERS))
MAIN_OBJ    := $(COMPILER_MAIN:%.c=$(OBJ)/%.o)
RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(OBJ)/%.o)
UNIT_BIN    := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/unit/%)

# What is linked into tsrc and the unit tests is instrumented like them; libtessera.a itself, which goes into compiled
# programs, never is.
RUNTIME_LIB := $(if $(RUNTIME_SRC),$(BUILD)/libtessera.a)
ifdef SANITIZE
OWN_RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(OBJ)/san/%.o)
OWN_RUNTIME := $(if $(RUNTIME_SRC),$(BUILD)/libtessera-san.a)
else
OWN_RUNTIME := $(RUNTIME_LIB)
endif
TSRC        := $(if $(COMPILER_MAIN),$(BUILD)/tsrc)
LIBS         = $(OWN_RUNTIME) -Wl,--as-needed $(LLVM_LIBS) -lminizip -lz -lm

.PHONY: all units deps test-deps bench-deps peers demo test accept bench accuracy layers wc oracle oracle-plants install clean help
.DELETE_ON_ERROR:
.SECONDARY: $(LEXERS) $(PARSERS) $(PARSERS:.c=.h) $(UNIT_SRC:%.c=$(OBJ)/%.o)

all: $(BUILD)/libtsrc.a $(RUNTIME_LIB) $(TSRC)

units: all $(UNIT_BIN) $(BUILD)/oracle

help:
	@echo "make            build/tsrc, build/libtessera.a"
	@echo "make deps       install the missing packages (apt; sudo when not root)"
	@echo "make demo       deps, build, compile examples/digits.tsr and run it"
	@echo "make test       test packages, build, all tests, then the sanitizer build and its tests"
	@echo "make peers      packages from PyPI that tests compare with; what is missing they say"
	@echo "make accept     rewrite the expected outputs of the tests (not the .ll patterns)"
	@echo "make bench      figures against other libraries in the same run; ONLY=products a part; bench-deps installs the libraries"
	@echo "make oracle     inference against an enumeration of all small problems, and samples of larger ones (a quarter of an hour)"
	@echo "make oracle-plants   the tests find each of the planted faults"
	@echo "make layers     check that each stage includes only earlier ones"
	@echo "make wc         the ten largest source files"
	@echo "make install    PREFIX=$(PREFIX) [STATIC=1] [DESTDIR=]"
	@echo "make clean      remove the build folders"

# ---- what the machine offers -------------------------------------------------------------------------------------

# The targets below install packages or start a second make, so they run before anything is known of the machine.
ORCHESTRATION := deps test-deps bench-deps peers demo test accept bench accuracy layers wc oracle oracle-plants install clean help
ifneq ($(filter-out $(ORCHESTRATION),$(or $(MAKECMDGOALS),all)),)
ifeq ($(wildcard $(BUILD)/machine.mk),)
MISSING := $(strip $(shell for p in $(PACKAGES); do \
	  case $${p$(HASH)*=} in \
	  (*.h) printf '$(HASH)include <stdio.h>\n$(HASH)include <%s>\n' $${p$(HASH)*=} | $(CC) -E -x c - ;; \
	  (*) command -v $${p$(HASH)*=} ;; \
	  esac >/dev/null 2>&1 || echo $${p%%=*}; done))
ifneq ($(MISSING),)
$(error missing packages: $(MISSING) (`make deps` installs them))
endif
ifdef STATIC
LINKING := --link-static
endif
$(shell mkdir -p $(BUILD); { \
	  echo "LLVM_CFLAGS := -isystem $$($(LLVM_CONFIG) --includedir)"; \
	  echo "LLVM_LIBS :=" $$($(LLVM_CONFIG) $(LINKING) --ldflags --libs $(LLVM_PARTS)) \
	    $(if $(STATIC),-Wl$(COMMA)--gc-sections -l:libstdc++.so.6 \
	      $$($(LLVM_CONFIG) --link-static --system-libs $(LLVM_PARTS) | sed 's/-lzstd/-l:libzstd.so.1/')); \
	  } >$(BUILD)/machine.mk)
endif
include $(BUILD)/machine.mk
endif

# ---- compiler ----------------------------------------------------------------------------------------------------

COMPILE = $(CC) $(STANDARD) $(WARNINGS) $(CFLAGS) $(SAN) -MMD -MP
GENERATED_HEADERS := $(PARSERS:.c=.h)

$(GEN)/%_lex.c: grammar/%.re
	@mkdir -p $(@D)
	$(SAY) "  RE2C  $<"
	$(Q)re2c -W --no-generation-date -o $@ $<

$(GEN)/%.c $(GEN)/%.h: grammar/%.y
	@mkdir -p $(@D)
	$(SAY) "  LEMON $<"
	$(Q)lemon -q -T/usr/share/lemon/lempar.c -d$(@D) $<
	$(Q)touch $(@D)/$*.h      # Lemon leaves a header alone that would not change

$(OBJ)/gen/%.o: $(GEN)/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(COMPILE) -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable -Wno-sign-compare \
	  -Wno-implicit-fallthrough -Wno-switch-enum -Icompiler -I$(GEN) -c $< -o $@

$(OBJ)/compiler/%.o: compiler/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(COMPILE) -DTSR_VERSION='"$(VERSION)"' $(LLVM_CFLAGS) -I$(GEN) -c $< -o $@

# The interpreter, for which tests wait more than for all of the compiler's own code.
ifeq ($(MODE),debug)
$(patsubst %,$(OBJ)/compiler/%.o,loop/interp loop/memory loop/spread ops/ops): CFLAGS += -O2
endif

$(BUILD)/libtsrc.a: $(COMPILER_OBJ) $(GEN_OBJ)
	@rm -f $@
	$(SAY) "  AR    $@"
	$(Q)ar qcsT $@ $^

$(BUILD)/tsrc: $(MAIN_OBJ) $(BUILD)/libtsrc.a $(RUNTIME_LIB) $(OWN_RUNTIME)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) $(MAIN_OBJ) $(BUILD)/libtsrc.a $(LIBS) -o $@

# ---- runtime -----------------------------------------------------------------------------------------------------

RUNTIME_FLAGS := $(STANDARD) $(WARNINGS) -O2 -g -fPIC -ffunction-sections -fdata-sections -MMD -MP

$(OBJ)/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(CC) $(RUNTIME_FLAGS) -c $< -o $@

$(OBJ)/san/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(CC) $(RUNTIME_FLAGS) $(SAN) -c $< -o $@

$(BUILD)/libtessera.a: $(RUNTIME_OBJ)
	@rm -f $@
	$(SAY) "  AR    $@"
	$(Q)ar qcs $@ $^

$(BUILD)/libtessera-san.a: $(OWN_RUNTIME_OBJ)
	@rm -f $@
	$(SAY) "  AR    $@"
	$(Q)ar qcs $@ $^

# ---- tests -------------------------------------------------------------------------------------------------------

$(OBJ)/tests/unit/%.o: tests/unit/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(COMPILE) $(LLVM_CFLAGS) -I$(GEN) -c $< -o $@

$(BUILD)/unit/%: $(OBJ)/tests/unit/%.o $(BUILD)/libtsrc.a $(OWN_RUNTIME)
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) $< $(BUILD)/libtsrc.a $(LIBS) -o $@

$(OBJ)/tests/bench/%.o: tests/bench/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(COMPILE) $(LLVM_CFLAGS) -I$(GEN) -c $< -o $@

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(BUILD)/libtsrc.a $(OWN_RUNTIME)
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) $< $(BUILD)/libtsrc.a $(LIBS) -o $@

ORACLE_OBJ  := $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/oracle/*.c))

$(OBJ)/tests/oracle/%.o: tests/oracle/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(SAY) "  CC    $<"
	$(Q)$(COMPILE) -O2 -c $< -o $@

$(BUILD)/oracle: $(ORACLE_OBJ) $(BUILD)/libtsrc.a $(OWN_RUNTIME)
	@mkdir -p $(@D)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(SAN) $(ORACLE_OBJ) $(BUILD)/libtsrc.a $(LIBS) -o $@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

test: deps test-deps
	-@$(MAKE) -s peers
	@$(MAKE) -s units
	@$(MAKE) -s units SANITIZE=1 BUILD=$(BUILD)-asan
	@$(PYTHON) tests/run-tests $(if $(ONLY),--only $(ONLY)) $(BUILD) $(BUILD)-asan

accept:
	@$(MAKE) -s units
	@$(PYTHON) tests/run-tests --accept $(if $(ONLY),--only $(ONLY)) $(BUILD)

bench: test-deps
	@$(MAKE) -s all
	@$(PYTHON) tests/bench/run $(if $(ONLY),--only $(ONLY)) $(if $(PAGE),--page $(PAGE)) $(BUILD)

# The worst error of each elementary function over all 2^32 arguments (in f64 a sample), into docs/accuracy.md: a quarter of an hour on two cores.
accuracy: test-deps
	@$(MAKE) -s MODE=release BUILD=$(BUILD)-release $(BUILD)-release/unit/math $(BUILD)-release/unit/math_f64
	@$(PYTHON) tests/tools/accuracy.py $(BUILD)-release/unit/math docs/accuracy.md

# The order of the stages, earlier first, and the headers that a stage shows to later ones besides the one that bears
# its name.  A stage also sees base/, diag/ and the runtime's headers; main.c and the driver see every stage's.
STAGES := base diag ops syntax module shape config elab proj code loop target opt host emit engine kernel llvm driver
PUBLIC := emit/options.h emit/queue.h syntax/ast.h syntax/spec.h config/unknown.h elab/graph.h ops/op.def diag/source.h diag/diag.def diag/output.h

# Inference against enumeration: all of it; and each planted fault against the part that the tests run.
oracle:
	@$(MAKE) -s MODE=release BUILD=$(BUILD)-release $(BUILD)-release/oracle
	$(BUILD)-release/oracle --full

oracle-plants:
	@$(MAKE) -s MODE=release BUILD=$(BUILD)-release $(BUILD)-release/oracle
	@$(PYTHON) tests/oracle/plants.py $(BUILD)-plants $(BUILD)-release

layers:
	@awk -v stages="$(STAGES)" -v public="$(PUBLIC)" ' \
	  BEGIN { n = split(stages, s, " "); for (i = 1; i <= n; i++) { rank[s[i]] = i; open_to_all[s[i] "/" s[i] ".h"] } \
	          n = split(public, p, " "); for (i = 1; i <= n; i++) open_to_all[p[i]] } \
	  function wrong(why) { print FILENAME ":" FNR ": includes " file ": " why; bad = 1 } \
	  /^#include "/ { \
	    split($$0, q, "\""); file = q[2]; split(FILENAME, here, "/"); stage = here[2]; \
	    if (!(stage in rank) && here[3] != "") { wrong(stage "/ is not in the list of stages"); next } \
	    if (file ~ /^\.\.\/\.\.\/runtime\// || file !~ /\//) next; \
	    sub(/^\.\.\//, "", file); split(file, there, "/"); \
	    if (there[1] == "base" || !(stage in rank)) next; \
	    if (!(there[1] in rank)) wrong("not a stage"); \
	    else if (rank[there[1]] >= rank[stage]) wrong(there[1] "/ is not earlier than " stage "/"); \
	    else if (!(file in open_to_all)) wrong("private to " there[1] "/") } \
	  END { exit bad }' $(wildcard compiler/*/*.[ch] compiler/*/*.def compiler/*.c)

wc:
	@wc -l $(wildcard compiler/*/*.[ch] compiler/*.c runtime/*.[ch] grammar/*) | grep -v ' total$$' | sort -rn | head -10

# ---- packages, the demonstration, installing ---------------------------------------------------------------------

# $(call ensure,packages): installs those that are missing, and names each one that cannot be had.  On a
# system without dpkg it does nothing, and the build names what it misses.
ensure = @command -v dpkg-query >/dev/null || exit 0; missing=; for p in $(1); do \
	  dpkg-query -W -f='$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^.i' || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] && exit 0; \
	command -v apt-get >/dev/null || { echo "missing packages:$$missing  (no apt-get here to install them)" >&2; exit 1; }; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; \
	  command -v sudo >/dev/null || { echo "missing packages:$$missing  (neither root nor sudo to install them)" >&2; exit 1; }; fi; \
	echo "installing:$$missing"; log=$$(mktemp); \
	get="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get"; \
	$$get update -qq >$$log 2>&1; \
	$$get install -y -q --no-install-recommends $$missing >$$log 2>&1 && { rm -f $$log; exit 0; }; \
	for p in $$missing; do $$get install -y -q --no-install-recommends $$p >$$log 2>&1 \
	  || { echo "cannot install the package $$p: $$(grep -m1 '^E:' $$log)" >&2; bad=1; }; done; \
	rm -f $$log; [ -z "$$bad" ]

deps:
	$(call ensure,$(foreach p,$(PACKAGES),$(firstword $(subst =, ,$(p)))))

test-deps:
	$(call ensure,$(TEST_PACKAGES))

# Pure Python, not in Debian; into the build folder, where the tests look for them.
peers: $(BUILD)/peers/opt_einsum

$(BUILD)/peers/opt_einsum:
	$(call ensure,python3-pip)
	@$(PYTHON) -m pip install -q --disable-pip-version-check --root-user-action=ignore --retries 1 --timeout 10 --no-deps \
	  --target $(BUILD)/peers opt_einsum==3.4.0

# What `make bench` compares with; what is missing it reports as missing.  PyTorch and JAX as their users have them come from PyPI, at a
# gigabyte, into the build folder: without them, Debian's PyTorch is the peer.  PyTorch's package is linked with CUDA's libraries,
# of which those named here are in no toolkit.
FRAMEWORKS := torch==2.15.0 nvidia-cufile nvidia-cusparselt-cu13==0.8.1 nvidia-nvshmem-cu13==3.7.2
FRAMEWORKS_NEED := jax==0.10.2 sympy networkx jinja2 fsspec filelock typing_extensions setuptools

bench-deps: test-deps $(BUILD)/frameworks
	$(call ensure,$(BENCH_PACKAGES))

PIP := $(PYTHON) -m pip install -q --disable-pip-version-check --root-user-action=ignore --retries 1

$(BUILD)/frameworks:
	$(call ensure,python3-pip)
	@rm -rf $@.part
	@$(PIP) --no-deps --target $@.part $(FRAMEWORKS)
	@$(PIP) --target $@.part --upgrade $(FRAMEWORKS_NEED)
	@mv $@.part $@

demo: deps
	@$(MAKE) -s all
	$(BUILD)/tsrc examples/digits.tsr -o $(BUILD)/digits
	cd examples && ../$(BUILD)/digits

ifdef STATIC
install: INSTALL_FROM := $(BUILD)-static
else
install: INSTALL_FROM := $(BUILD)
endif
install:
	@$(MAKE) -s all BUILD=$(INSTALL_FROM)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(PREFIX)/share/tessera/stdlib
	install $(INSTALL_FROM)/tsrc $(DESTDIR)$(PREFIX)/bin/tsrc
	install -m 644 $(INSTALL_FROM)/libtessera.a $(DESTDIR)$(PREFIX)/lib/libtessera.a
	install -m 644 runtime/tsr.h $(DESTDIR)$(PREFIX)/include/tsr.h
	install -m 644 stdlib/*.tsr $(DESTDIR)$(PREFIX)/share/tessera/stdlib/
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' 'Name: Tessera' \
	  'Description: Runtime of compiled tensor programs' 'Version: $(VERSION)' \
	  'Libs: -L$${libdir} -ltessera -lminizip -lz -lm' 'Cflags: -I$${includedir}' \
	  >$(DESTDIR)$(PREFIX)/lib/pkgconfig/tessera.pc

clean:
	rm -rf build build-*
