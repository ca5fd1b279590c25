"""NEON's register tiles, and SVE's where a processor has it: linked with the runtime by a cross compiler, started under an emulator."""
import glob
import os
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TARGET, CROSS, EMULATOR = "aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "qemu-aarch64"


class Machine:
    def __init__(self, build, folder):
        self.tsrc, self.folder, objects = os.path.join(build, "tsrc"), folder, []
        for source in sorted(glob.glob(os.path.join(ROOT, "runtime/*.c"))):
            objects.append(os.path.join(folder, os.path.basename(source)[:-2] + ".o"))
            subprocess.run([CROSS, "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-c", source, "-o", objects[-1]], check=True)
        subprocess.run([CROSS.replace("gcc", "ar"), "rcs", os.path.join(folder, "runtime.a"), *objects], check=True)

    def runs(self, text):
        return "+*" in text

    def ways(self, rng, text):
        """Of a program of tests/run, for which there is no `rng`, and of a random one."""
        return [("-O2", "--cpu=" + rng.choice(["cortex-a53", "neoverse-v1"])), ("-O3", "--threads=all")] if rng else [("-O2", "--cpu=neoverse-n1")]

    def run(self, path, *options):
        assembly, program = (os.path.join(self.folder, name) for name in ("program.s", "program"))
        for command in ([self.tsrc, "--target=" + TARGET, "-S", *options, path, "-o", assembly],
                        [CROSS, "-march=armv8.5-a+sve2", "-static", "-pthread", assembly, os.path.join(self.folder, "runtime.a"), "-lm", "-o", program],
                        [EMULATOR, program]):
            p = subprocess.run(command, capture_output=True, text=True)
            if p.returncode:
                return p.returncode, p.stdout, "%s: %s" % (os.path.basename(command[0]), p.stderr[:800])
        return p.returncode, p.stdout, p.stderr

    def missed(self):
        return []
