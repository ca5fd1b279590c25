# Tessera.  `make` builds build/tsrc and build/libtessera.a; `make help` lists the targets.
#
# Variables: BUILD (the build folder), MODE=debug|release, SANITIZE=1 (address, undefined, leak; its own folder),
# STATIC=1 (libLLVM linked into tsrc), CC, LLVM_CONFIG, PREFIX.

CC          ?= cc
ifeq ($(origin CC),default)
CC          := gcc
endif
LLVM_CONFIG ?= llvm-config-19
PREFIX      ?= /usr/local
MODE        ?= debug
VERSION     := 0.1.0

ifdef SANITIZE
BUILD       ?= build-asan
else
BUILD       ?= build
endif
GEN         := $(BUILD)/gen
OBJ         := $(BUILD)/obj

# package=what shows that it is there: a command, or a header (with a '.')
PACKAGES      := gcc=gcc libc6-dev=stdio.h make=make llvm-19-dev=$(LLVM_CONFIG) re2c=re2c lemon=lemon \
                 libminizip-dev=minizip/unzip.h zlib1g-dev=zlib.h
TEST_PACKAGES := python3=python3 python3-numpy=python3 llvm-19-tools=FileCheck-19 libopenblas-dev=gcc valgrind=valgrind

WARNINGS    := -Wall -Wextra -Wswitch-enum -Werror -Werror=implicit-function-declaration
OPT_debug   := -O1 -g
OPT_release := -O2
CFLAGS      ?= $(OPT_$(MODE))
STANDARD    := -std=c11 -D_GNU_SOURCE
ifdef SANITIZE
SAN         := -fsanitize=address,undefined,leak -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

COMPILER_SRC := $(filter-out compiler/main.c,$(wildcard compiler/*/*.c))
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

.PHONY: all units deps test-deps demo test accept bench layers wc oracle install clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/libtsrc.a $(RUNTIME_LIB) $(TSRC)

units: all $(UNIT_BIN)

help:
	@echo "make            build/tsrc, build/libtessera.a"
	@echo "make deps       install the missing packages (apt; sudo when not root)"
	@echo "make demo       deps, build, compile examples/digits.tsr and run it"
	@echo "make test       test packages, build, all tests, then the sanitizer build and its tests"
	@echo "make accept     rewrite the expected outputs of the tests (not the .ll patterns)"
	@echo "make bench      figures against NumPy and OpenBLAS in the same run"
	@echo "make layers     check that each stage includes only earlier ones"
	@echo "make wc         the ten largest source files"
	@echo "make install    PREFIX=$(PREFIX) [STATIC=1] [DESTDIR=]"
	@echo "make clean      remove the build folders"

# ---- what the machine offers -------------------------------------------------------------------------------------

# The targets below install packages or start a second make, so they run before anything is known of the machine.
ORCHESTRATION := deps test-deps demo test accept bench layers wc oracle install clean help
ifneq ($(filter-out $(ORCHESTRATION),$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/machine.mk
endif

$(BUILD)/machine.mk:
	@mkdir -p $(@D)
	@missing=; for p in $(PACKAGES); do \
	  case $${p#*=} in \
	  *.h) echo "#include <stdio.h>\n#include <$${p#*=}>" | $(CC) -E -x c - >/dev/null 2>&1 ;; \
	  *) command -v $${p#*=} >/dev/null ;; \
	  esac || missing="$$missing $${p%%=*}"; \
	done; \
	if [ -n "$$missing" ]; then echo "missing:$$missing (\`make deps\` installs what is missing)" >&2; exit 1; fi
	@{ echo "LLVM_CFLAGS := -isystem $$($(LLVM_CONFIG) --includedir)"; \
	   if [ -n "$(STATIC)" ]; then \
	     echo "LLVM_LIBS := $$($(LLVM_CONFIG) --link-static --ldflags --libs x86 aarch64 nvptx passes bitwriter irreader linker debuginfodwarf | tr '\n' ' ')" \
	          "$$($(LLVM_CONFIG) --link-static --system-libs x86 aarch64 nvptx passes | tr '\n' ' ') -l:libstdc++.so.6"; \
	   else echo "LLVM_LIBS := $$($(LLVM_CONFIG) --ldflags --libs | tr '\n' ' ')"; fi; } >$@

# ---- compiler ----------------------------------------------------------------------------------------------------

COMPILE = $(CC) $(STANDARD) $(WARNINGS) $(CFLAGS) $(SAN) -MMD -MP
GENERATED_HEADERS := $(PARSERS:.c=.h)

$(GEN)/%_lex.c: grammar/%.re
	@mkdir -p $(@D)
	re2c -W --no-generation-date -o $@ $<

$(GEN)/%.c: grammar/%.y
	@mkdir -p $(@D)
	lemon -q -T/usr/share/lemon/lempar.c -d$(@D) $<

$(GEN)/%.h: $(GEN)/%.c ;

$(OBJ)/gen/%.o: $(GEN)/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) -Wno-unused-parameter -Wno-unused-variable -Wno-unused-but-set-variable -Wno-sign-compare \
	  -Wno-implicit-fallthrough -Wno-switch-enum -Icompiler -I$(GEN) -c $< -o $@

$(OBJ)/compiler/%.o: compiler/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) -DTSR_VERSION='"$(VERSION)"' $(LLVM_CFLAGS) -I$(GEN) -c $< -o $@

$(BUILD)/libtsrc.a: $(COMPILER_OBJ) $(GEN_OBJ)
	@rm -f $@
	ar qcsT $@ $^

$(BUILD)/tsrc: $(MAIN_OBJ) $(BUILD)/libtsrc.a $(RUNTIME_LIB) $(OWN_RUNTIME)
	$(CC) $(CFLAGS) $(SAN) $(MAIN_OBJ) $(BUILD)/libtsrc.a $(LIBS) -o $@

# ---- runtime -----------------------------------------------------------------------------------------------------

RUNTIME_FLAGS := $(STANDARD) $(WARNINGS) -O2 -g -fPIC -ffunction-sections -fdata-sections -MMD -MP

$(OBJ)/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_FLAGS) -c $< -o $@

$(OBJ)/san/runtime/%.o: runtime/%.c
	@mkdir -p $(@D)
	$(CC) $(RUNTIME_FLAGS) $(SAN) -c $< -o $@

$(BUILD)/libtessera.a: $(RUNTIME_OBJ)
	@rm -f $@
	ar qcs $@ $^

$(BUILD)/libtessera-san.a: $(OWN_RUNTIME_OBJ)
	@rm -f $@
	ar qcs $@ $^

# ---- tests -------------------------------------------------------------------------------------------------------

$(OBJ)/tests/unit/%.o: tests/unit/%.c | $(GENERATED_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) $(LLVM_CFLAGS) -I$(GEN) -c $< -o $@

$(BUILD)/unit/%: $(OBJ)/tests/unit/%.o $(BUILD)/libtsrc.a $(OWN_RUNTIME)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) $< $(BUILD)/libtsrc.a $(LIBS) -o $@

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

clean:
	rm -rf build build-*
