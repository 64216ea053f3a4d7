# SPDX-License-Identifier: Apache-2.0
# sysflame: `make record` to try it, `make check` to test it, `make help` for the rest.

O       ?= build
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
ARCH    := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
VERSION := 0.1.0

# Packages of Debian 12, 13 and sid; of A|B the first that the release has. tests/lib/missing has what they stand for.
DEPS      := gcc make pkg-config clang bpftool libbpf-dev libelf-dev zlib1g-dev liblzma-dev \
	     libiberty-dev libjansson-dev libmicrohttpd-dev libpcre2-dev libseccomp-dev libprotobuf-c-dev protobuf-c-compiler libsqlite3-dev \
	     libzstd-dev libncurses-dev libnats-dev libcurl4-openssl-dev libssl-dev uthash-dev \
	     default-jdk-headless
# The build does without these: smaller pages, uprobes at offsets.
DEPS_MORE := libcapstone-dev esbuild zopfli
DEPS_TEST := $(DEPS) g++ libcmocka-dev clang-format universal-ctags libdw-dev libclang-rt-dev systemtap-sdt-dev \
	     iproute2 procps curl openssl libc6-dbg libcap2-bin binutils xz-utils util-linux e2fsprogs python3 python3-yaml python3-jsonschema
# Tests that need one of these are skipped by name without it. SUITES= installs none: 176 instead of 800 packages.
SUITES    := $(DEPS_MORE) tmux musl-tools chromium nodejs npm protobuf-compiler \
	     libjemalloc2 libtcmalloc-minimal4|libtcmalloc-minimal4t64 hey slowhttptest \
	     clojure libcheshire-clojure tomcat10-user qemu-system-x86 cpio \
	     gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user golang-go linux-perf nats-server \
	     podman runc catatonit

JAVA_HOME ?= $(dir $(patsubst %/,%,$(dir $(realpath $(shell command -v javac)))))
JVMTI      = -I$(JAVA_HOME)/include -I$(JAVA_HOME)/include/linux

# Newer compilers find more: their warnings stop CI and `make check` only.
WERROR    ?= $(filter-out 0 false,$(CI))
ERROR      = $(if $(filter-out 0,$(WERROR)),-Werror)
WARN       = -Wall -Wextra -Wno-unused-parameter $(ERROR)
# Builds of the same sources have the same bytes wherever they lie.
PATHS      = -ffile-prefix-map=$(CURDIR)=. $(if $(filter /%,$(O)),-ffile-prefix-map=$(O)=build)
# Optional: without it uprobe: takes no offsets into functions.
capstone  := $(shell pkg-config --libs capstone 2>/dev/null)
DEFS       = $(if $(capstone),-DHAVE_CAPSTONE) -D_GNU_SOURCE -DSYSFLAME_VERSION='"$(VERSION)"' -DSYSFLAME_ARCH='"$(ARCH)"'
ALL_CFLAGS = -std=gnu11 $(WARN) $(PATHS) $(DEFS) -MMD -MP -Iuser -Ibpf -I. -I$(O)/gen $(CFLAGS)
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g -Wall $(ERROR) $(PATHS) -MMD -MP \
	     -D__TARGET_ARCH_$(ARCH) -Ivmlinux/$(ARCH) -Ibpf
SAN        = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_CFLAGS = -std=gnu11 $(WARN) $(DEFS) -MMD -MP -Iuser -Ibpf -I. -I$(O)/gen $(SAN)
TEST_FLAGS = -std=gnu11 -Wall $(ERROR) $(DEFS) -MMD -MP -Itests/lib -Ibpf/host -Ibpf -Iuser -I. $(JVMTI) $(SAN)
FUZZ_CFLAGS = -std=gnu11 -Wall $(ERROR) $(DEFS) -MMD -MP -Iuser -Ibpf -I. -I$(O)/gen -O1 -g \
	     -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_SECONDS ?= 60
LIBS       = -lpcre2-8 -lseccomp -lbpf -lelf -lz -llzma -liberty -ljansson -lmicrohttpd -lprotobuf-c -lsqlite3 -lzstd -lnats -lcurl -lcrypto -lncursesw -ltinfo $(capstone) -lm
for_arm64  = $(findstring aarch64,$(shell $(CC) -dumpmachine))
AGENT_FLAGS = -std=gnu11 $(WARN) $(PATHS) -O2 -g -MMD -MP -I. $(JVMTI) -fPIC -ffreestanding -nostdlib \
	     -fno-stack-protector -fvisibility=hidden -fno-omit-frame-pointer -fno-plt \
	     -fno-tree-loop-distribute-patterns \
	     $(if $(for_arm64),-mno-outline-atomics)
# Pages of 64 KB would be filled up to protect a few pointers.
AGENT_LINK = -shared -Wl,-z,now,-z,$(if $(for_arm64),norelro,relro),-z,noexecstack,-z,defs -Wl,--hash-style=both \
	     -Wl,--build-id -Wl,-Bsymbolic -Wl,--strip-debug -Wl,-soname,libjvmmap.so

# libbpf's linker must see a map's definition before any extern use of it.
bpf_first  := bpf/ring.bpf.c bpf/node/tables.bpf.c
bpf_other  := bpf/skipped.bpf.c
bpf_srcs   := $(bpf_first) bpf/maps.bpf.c $(filter-out $(bpf_first) bpf/maps.bpf.c $(bpf_other),$(wildcard bpf/*.bpf.c bpf/unwind/*.bpf.c))
node_srcs  := $(bpf_first) $(filter-out $(bpf_first),$(wildcard bpf/node/*.bpf.c))
user_srcs  := $(wildcard user/*/*.c user/*/*/*.c)
proto_dirs := user/export/interchange user/fleet user/push
protos     := $(patsubst %.proto,%.pb-c,$(notdir $(wildcard $(proto_dirs:%=%/*.proto))))
vpath %.proto $(proto_dirs)
user_objs  := $(user_srcs:%.c=$(O)/%.o) $(protos:%=$(O)/gen/%.o)
san_objs   := $(patsubst %.c,$(O)/san/%.o,$(filter-out user/cmd/main.c,$(user_srcs))) $(protos:%=$(O)/san/gen/%.o)
agent_objs := $(patsubst %.c,$(O)/%.o,$(wildcard jvmmap/*.c))
assets     := $(wildcard user/export/writers/page/*)
ui         := $(wildcard user/web/ui/*)
unit_tests := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/test_*.c))
programs   := $(patsubst %.c,$(O)/%,$(wildcard tests/programs/*.c))
java_srcs  := $(wildcard tests/programs/*.java)
fuzzers    := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))
mutations  := $(fuzzers:$(O)/tests/fuzz/fuzz_%=$(O)/tests/fuzz/mutations_%)
fuzz_objs  := $(patsubst %.c,$(O)/fuzz/%.o,$(filter-out user/capture/% user/cmd/%,$(user_srcs)) user/capture/parsers.c user/capture/unwind/moved_text.c user/capture/unwind/row_build.c) \
	      $(protos:%=$(O)/fuzz/gen/%.o)
skeletons  := $(O)/gen/node.skel.h $(O)/gen/recording.skel.h $(O)/gen/skipped.skel.h
generated  := $(skeletons) $(O)/gen/core_type_names.h $(O)/gen/page.h $(O)/gen/ui.h $(protos:%=$(O)/gen/%.h)
scripts    := $(sort $(wildcard tests/bpf/test_* tests/cli/test_* tests/fuzz/test_* tests/jvm/test_* \
	     tests/web/test_* tests/fleet/test_* tests/kernels/test_*))
sources    := $(wildcard bpf/*.[ch] bpf/*/*.[ch] bpf/*/*/*.[ch] jvmmap/*.[ch] user/*/*.[ch] user/*/*/*.[ch] \
	     tests/*/*.[ch] tests/*/*/*.[ch])

ifeq ($(V),1)
Q   :=
say :=
else
Q   := @
say = @printf '  %-8s %s\n' $(1) $(2);
endif

all: $(O)/sysflame $(O)/libjvmmap.so

# Compilers name what is missing one by one and less clearly.
tools := $(O)/.tools
# Tests build other sources with this file.
here  := $(dir $(firstword $(MAKEFILE_LIST)))
missing = CC='$(CC)' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' JAVA_HOME='$(JAVA_HOME)' $(here)tests/lib/missing
$(tools): $(here)Makefile
	$(Q)lacks=$$($(missing) $(DEPS)) || { \
	  echo "the build needs $$lacks: make deps installs this on Debian; elsewhere install it first" >&2; exit 1; }
	$(Q)mkdir -p $(@D) && touch $@
$(generated) $(protos:%=$(O)/gen/%.c) $(agent_objs): | $(tools)

$(O)/sysflame: $(user_objs)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

# One binary that needs no library and no file: the agent is inside. Without NATS and TLS, whose
# libraries Debian has no archives of.
# Capstone would add 4 MB for instruction sets of all machines.
static_own  := user/base/build user/elf/instruction user/jvm/attach/agent_file
static_objs := $(filter-out $(static_own:%=$(O)/%.o) $(O)/user/fleet/bus.o $(O)/user/fleet/bus_key.o $(O)/user/fleet/bus_streams.o $(O)/user/push/post.o \
	       $(O)/user/fleet/fetch_run.o,$(user_objs)) \
	       $(static_own:%=$(O)/static/%.o) $(O)/static/pkg/static/absent.o
static: $(O)/static/sysflame

$(O)/static/sysflame: $(static_objs)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) -static $^ $(filter-out -lnats -lcurl $(capstone),$(LIBS)) -o $@ -Wl,--gc-sections -s \
	  2>&1 | grep -v 'statically linked applications\|in function' >&2; test -x $@

$(O)/static/%.o: %.c $(O)/libjvmmap.so | $(generated)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -UHAVE_CAPSTONE -DSYSFLAME_STATIC='"$(abspath $(O))/libjvmmap.so"' -c $< -o $@

# The unwinder's BPF sources on the host: stand-ins for kernel types and helpers come first.
$(O)/user/capture/unwind/walker.o: ALL_CFLAGS := -Ibpf/host $(ALL_CFLAGS)
$(O)/san/user/capture/unwind/walker.o: SAN_CFLAGS := -Ibpf/host $(SAN_CFLAGS)

$(O)/%.o: %.c | $(generated)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/%.bpf.o: %.bpf.c | $(tools)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/gen/node.skel.h: $(node_srcs:%.bpf.c=$(O)/%.bpf.o)
$(O)/gen/recording.skel.h: $(bpf_srcs:%.bpf.c=$(O)/%.bpf.o)
# The recording's programs and one more, so that both have the same variables.
$(O)/gen/skipped.skel.h: $(bpf_srcs:%.bpf.c=$(O)/%.bpf.o) $(O)/bpf/skipped.bpf.o
$(skeletons): $(O)/gen/%.skel.h:
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(O)/$*.bpf.o $^ && \
	  $(BPFTOOL) gen skeleton $(O)/$*.bpf.o name $*_skel > $@

# The names of the types in both objects, for capture/kernel/core_types.c. After ___ a name has a flavor.
$(O)/gen/core_type_names.h: $(skeletons)
	$(call say,TYPES,$@)
	$(Q)for o in node recording skipped; do $(BPFTOOL) btf dump file $(O)/$$o.bpf.o format raw; done | \
	  sed -nE "s/^\[[0-9]+\] (STRUCT|UNION|ENUM|ENUM64|TYPEDEF) '([A-Za-z0-9_]+)'.*/\2/p" | \
	  sed 's/___.*//' | LC_ALL=C sort -u | sed 's/.*/"&",/' > $@
	$(Q)test -s $@

# The page's script and style as C strings, with the hashes that its security policy names.
$(O)/gen/page.h: user/export/writers/embed $(assets)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && user/export/writers/embed $(assets) > $@

# The files of the daemon's user interface.
$(O)/gen/ui.h: user/web/embed-ui $(ui)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && user/web/embed-ui $(ui) > $@

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: %.proto
	$(call say,PROTO,$(O)/gen/$*.pb-c.c)
	$(Q)mkdir -p $(@D) && protoc-c -I$(<D) --c_out=$(O)/gen $<

# What a schema becomes is compiled like any other source.
$(O)/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/san/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(Q)mkdir -p $(@D) && $(CC) $(SAN_CFLAGS) -c $< -o $@

$(O)/fuzz/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -c $< -o $@

$(O)/jvmmap/%.o: jvmmap/%.c
	$(call say,AGENT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(AGENT_FLAGS) -c $< -o $@

$(O)/libjvmmap.so: $(agent_objs)
	$(call say,LINK,$@)
	$(Q)$(CC) $(AGENT_FLAGS) $(AGENT_LINK) $^ -o $@

# --- tests -----------------------------------------------------------------------------------

$(O)/san/%.o: %.c | $(generated)
	$(call say,SAN,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SAN_CFLAGS) -c $< -o $@

$(O)/san/libuser.a: $(san_objs)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/tests/unit/%: tests/unit/%.c $(O)/san/libuser.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_FLAGS) $< $(O)/san/libuser.a -lcmocka -ldw $(LIBS) -o $@

$(O)/tests/programs/%: tests/programs/%.c
	$(call say,PROGRAM,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -MMD -MP $(JVMTI) \
	  $(shell sed -n 's/.*BUILD-FLAGS: *\(.*[^ ]\) *\*\/.*/\1/p' $<) $< -lpthread -o $@

# Programs that speak as a fleet does, or fill a store, through our own code.
$(addprefix $(O)/tests/programs/,nodes nats_try month verified): $(O)/tests/programs/%: tests/programs/%.c $(filter-out $(O)/user/cmd/main.o,$(user_objs))
	$(call say,PROGRAM,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(filter %.c %.o,$^) $(LIBS) -o $@

$(O)/tests/programs/.java: $(java_srcs)
	$(call say,JAVAC,$(O)/tests/programs)
	$(Q)mkdir -p $(@D) && javac --release 8 -Xlint:-options -nowarn -d $(@D) $^ && touch $@

# Fuzz targets are linked with all of user/ but capture and cmd, built for libFuzzer.
$(O)/fuzz/%.o: %.c | $(generated)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -c $< -o $@

$(O)/fuzz/libuser.a: $(fuzz_objs)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/tests/fuzz/%: tests/fuzz/%.c $(O)/fuzz/libuser.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -Itests/lib -fsanitize=fuzzer $< $(O)/fuzz/libuser.a $(LIBS) -o $@

# Without libFuzzer: what every check can afford.
$(O)/tests/fuzz/mutations_%: tests/fuzz/fuzz_%.c tests/fuzz/mutations.c $(O)/san/libuser.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(TEST_FLAGS)) $(filter %.c %.a,$^) $(LIBS) -o $@

# Each target for FUZZ_SECONDS, T='fuzz_a' only these; what it finds is kept under $(O).
fuzz: $(fuzzers)
	$(Q)O=$(O) tests/fuzz/run -max_total_time=$(FUZZ_SECONDS) \
	  $(filter $(if $(T),$(addprefix %/,$(T)),%),$(fuzzers))

test-programs: $(programs) $(O)/tests/programs/.java

# T='test_a test_b' builds and runs only these. Unit tests alone run without root; some are skipped then.
# Scripts that say "Only in check-more." are run if they are named or with MORE=1.
more   := $(if $(filter-out 0,$(MORE)),,$(shell grep -lxE '(\#|//) Only in check-more[.]' $(scripts)))
chosen  = $(filter $(if $(T),$(addprefix %/,$(T)),%),$(unit_tests) $(if $(T),$(scripts),$(filter-out $(more),$(scripts))))
test-build: all $(if $(or $(filter test_units,$(T)),$(if $(T),,all)),$(unit_tests),$(filter $(unit_tests),$(chosen))) $(if $(or $(filter test_fuzz%,$(T)),$(if $(T),,all)),$(mutations)) test-programs
test: test-build
	$(Q)O=$(O) $(if $(filter $(scripts),$(chosen)),tests/lib/as-root "running the tests") tests/run $(chosen)

# Unit tests of quick are linked with the program's own objects, without sanitizers.
$(O)/quick/libuser.a: $(filter-out $(O)/user/cmd/main.o,$(user_objs))
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

$(O)/quick/%: tests/unit/%.c $(O)/quick/libuser.a
	$(call say,TEST,$@)
	$(Q)$(CC) $(filter-out $(SAN),$(TEST_FLAGS)) -g $< $(O)/quick/libuser.a -lcmocka -ldw $(LIBS) -o $@

# Those that take more than 2 s, or need more than C programs.
slow_units := $(addprefix test_,capture_receiver capture_recordings daemon elf_rows_libdw export_external export_slices \
	      jvm_agents jvm_codemap recorder store_limits store_slices worker)
quick_units = $(filter-out $(addprefix $(O)/quick/,$(slow_units)),$(unit_tests:$(O)/tests/unit/%=$(O)/quick/%))

# Before each commit, in two minutes: build, lint, most unit tests, a recording.
quick:
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) -j$(shell nproc) all
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) lint
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) quick-build
	$(Q)O=$(O) tests/lib/as-root "recording" tests/run $(quick_units) tests/bpf/test_roots

quick-build: $(quick_units)

check: export WERROR = 1
check: export RETRY = 1
export MORE
check:
	$(Q)tests/lib/as-root "running the tests"
	$(Q)$(MAKE) --no-print-directory deps-test
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) -j$(shell nproc) all
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) lint
	$(Q)$(MAKE) --no-print-directory -j$(shell nproc) test-build
	$(Q)$(MAKE) --no-print-directory -q all || { echo 'a second make would rebuild something'; exit 1; }
	$(Q)$(MAKE) --no-print-directory test

# What `make check` leaves out: the long variants of its tests, and all fuzz targets for 15 s; an hour and a half.
check-more:
	$(Q)$(MAKE) --no-print-directory check MORE=1
	$(Q)$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=15

# Unwinder and JVM reader on JDK 8 to 28, which tests/jvm/jdks obtains once (3 GB).
check-jdks: all $(addprefix $(O)/tests/unit/test_jvm_,hotspot churn thread_names gauges) test-programs
	$(Q)tests/lib/apt-ensure debootstrap
	$(Q)O=$(O) tests/lib/as-root "reading JVMs" tests/jvm/check-jdks

# Builds with gcc 12 and newer and clang 14 and newer, in roots of Debian 12, 13 and sid, and records; an hour at first.
check-compilers:
	$(Q)tests/lib/apt-ensure debootstrap
	$(Q)tests/lib/as-root "recording" tests/compilers/check

# Records on the kernels of Debian 12, 13 and sid, booted in an emulated machine; some minutes.
check-kernels: deps-test all test-programs
	$(Q)O=$(O) tests/lib/as-root "recording" tests/kernels/check bookworm trixie sid

# Records on machines unlike most: many CPUs, lockdown, SELinux, AppArmor, a suspend, ..; emulated, an hour.
check-machines: deps-test all test-programs
	$(Q)tests/lib/apt-ensure debootstrap e2fsprogs
	$(Q)O=$(O) tests/lib/as-root "recording" tests/machines/check

# A newcomer's way in fresh roots of Debian 12, 13 and sid: packages, build, a recording, some tests; an hour.
check-distros:
	$(Q)tests/lib/apt-ensure debootstrap git
	$(Q)tests/lib/as-root "making roots" tests/distros/check $(RELEASES)

# Faults below a fleet of real daemons in full, and five of them in networks of their own; some minutes.
check-fleet: all test-programs
	$(Q)O=$(O) MORE=1 tests/lib/as-root "recording" tests/fleet/test_fleet_faults
	$(Q)O=$(O) tests/lib/as-root "recording" tests/fleet/check-networks

soak: all test-programs
	$(Q)O=$(O) tests/lib/as-root "recording" tests/jvm/soak
	$(Q)O=$(O) JVMS=$(or $(JVMS),200) tests/lib/as-root "recording" tests/jvm/test_names
	$(Q)O=$(O) tests/lib/as-root "recording" tests/bpf/soak_events
	$(Q)O=$(O) tests/lib/as-root "recording" tests/bpf/soak_ageing
	$(Q)O=$(O) tests/lib/as-root "recording" tests/web/soak_serve
	$(Q)$(MAKE) --no-print-directory soak-kills

# 1000 recorders and their children, and 600 processes of the daemon, killed at random; two hours. CYCLES and SEED change them.
soak-kills: all test-programs
	$(Q)O=$(O) CYCLES=$(or $(CYCLES),1000) tests/lib/as-root "recording" tests/jvm/test_kills
	$(Q)O=$(O) CYCLES=$(or $(CYCLES),600) tests/lib/as-root "recording" tests/web/test_serve_kills

lint:
	$(Q)tests/lint/format --dry-run -Werror $(sources)
	$(Q)tests/lint/layers $(filter user/%,$(sources))
	$(Q)tests/lint/circles $(filter user/%.c,$(sources))
	$(Q)tests/lint/circles $(filter jvmmap/%.c,$(sources))
	$(Q)tests/lint/unused $(filter user/%,$(sources))
	$(Q)tests/lint/shape $(filter-out vmlinux/%,$(sources)) $(filter %.js,$(assets) $(ui))
	$(Q)tests/lint/headers $(filter user/% jvmmap/% bpf/%,$(sources))
	$(Q)tests/lint/prose
	$(Q)tests/lint/counters
	$(Q)tests/lint/registered $(shell grep -l "^run_tests " tests/*/test_*)

fmt:
	$(Q)tests/lint/format -i $(sources)

# Pictures of the page in each state, to be looked at.
screens: all test-programs
	$(Q)O=$(O) tests/web/screens $(O)/screens

bench: all test-programs
	$(Q)O=$(O) tests/bench/run

# Requests to 10,000 simulated nodes and to real daemons; some minutes.
bench-fleet: all test-programs
	$(Q)O=$(O) tests/lib/as-root "recording" tests/fleet/bench

# --- installing ------------------------------------------------------------------------------

deps:
	$(Q)tests/lib/apt-ensure $(DEPS) --optional $(DEPS_MORE)

deps-test:
	$(Q)tests/lib/apt-ensure $(DEPS_TEST) --optional '$(SUITES)'
	$(if $(filter npm,$(SUITES)),$(Q)tests/lib/npm-ensure tests/web)

record:
	$(Q)tests/lib/as-root "recording"
	$(Q)$(MAKE) --no-print-directory deps
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) all $(O)/tests/programs/.java
	$(Q)O=$(O) tests/lib/record-sample

fleet    := ls record diff top serve status stop audit policy init add revoke
commands := record events report jvms top doctor diff debug serve fleet \
	    $(fleet:%=fleet-%) $(addprefix debug-,agent jvm steps unwind)
man      := $(O)/man/sysflame.1 $(commands:%=$(O)/man/sysflame-%.1)

$(O)/man/sysflame.1: $(O)/sysflame docs/man/make-man
	$(Q)mkdir -p $(@D) && docs/man/make-man $< > $@

$(O)/man/sysflame-%.1: $(O)/sysflame docs/man/make-man
	$(Q)mkdir -p $(@D) && docs/man/make-man $< $* > $@

$(O)/man/sysflame.bash: $(O)/sysflame docs/man/make-completion
	$(Q)mkdir -p $(@D) && docs/man/make-completion $< > $@

INSTALL   ?= install
UNITDIR   ?= /usr/lib/systemd/system
SYSUSERS  ?= /usr/lib/sysusers.d
old_unit   = $(DESTDIR)/etc/systemd/system/sysflame.service

install: all $(man) $(O)/man/sysflame.bash
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(man)
	$(INSTALL) -D -m 644 $(O)/man/sysflame.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sysflame
	$(INSTALL) -D $(O)/sysflame $(DESTDIR)$(PREFIX)/bin/sysflame
	$(INSTALL) -D $(O)/libjvmmap.so $(DESTDIR)$(PREFIX)/lib/sysflame/libjvmmap.so

# The daemon's unit, its user, and a configuration that is not overwritten. The administrator's units in /etc win.
install-systemd: install
	$(INSTALL) -D -m 644 pkg/systemd/sysflame.service $(DESTDIR)$(UNITDIR)/sysflame.service
	sed -i 's,/usr/local/bin,$(PREFIX)/bin,' $(DESTDIR)$(UNITDIR)/sysflame.service
	$(INSTALL) -D -m 644 pkg/systemd/sysflame.sysusers $(DESTDIR)$(SYSUSERS)/sysflame.conf
	test -e $(DESTDIR)/etc/sysflame/recorder.conf || \
	  $(INSTALL) -D -m 644 pkg/systemd/recorder.conf $(DESTDIR)/etc/sysflame/recorder.conf
	@[ ! -e $(old_unit) ] || echo '$(old_unit) replaces this unit: remove it unless it is yours'

# Configuration and recorded profiles stay.
uninstall:
	rm -f $(man:$(O)/man/%=$(DESTDIR)$(PREFIX)/share/man/man1/%) \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sysflame $(DESTDIR)$(PREFIX)/bin/sysflame \
	  $(DESTDIR)$(PREFIX)/lib/sysflame/libjvmmap.so $(DESTDIR)$(UNITDIR)/sysflame.service $(DESTDIR)$(SYSUSERS)/sysflame.conf
	[ ! -d $(DESTDIR)$(PREFIX)/lib/sysflame ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/lib/sysflame
	@for kept in $(old_unit) $(DESTDIR)/etc/sysflame $(DESTDIR)/var/lib/sysflame; do \
	  [ ! -e $$kept ] || echo "kept $$kept"; done

# Only the build's own folders: O may hold other files.
clean:
	$(Q)[ ! -e $(O)/Makefile ] || { echo '$(O) is a folder of sources, not of a build' >&2; exit 1; }
	rm -rf $(addprefix $(O)/,bpf fuzz gen jvmmap man san screens static tests user sysflame libjvmmap.so node.bpf.o recording.bpf.o skipped.bpf.o .tools)
	$(Q)[ ! -d $(O) ] || rmdir --ignore-fail-on-non-empty $(O)

help:
	@echo 'make record        profile this node for 10 s next to a sample Java program: flame.html'
	@echo 'make check         install what the tests need, build, lint, run every test'
	@echo '                   (as root, or as a user who may run sudo: make calls it where needed)'
	@echo 'make quick         build, lint, most unit tests, a recording: before each commit'
	@echo 'make check-more    the same with the long variants of the tests: before a release'
	@echo 'make               build $(O)/sysflame and $(O)/libjvmmap.so'
	@echo 'make static        one binary for any Linux: $(O)/static/sysflame, without NATS and TLS'
	@echo 'make test T=NAME   run single tests; make lint, make fmt, make bench, make screens'
	@echo 'make fuzz          run every fuzz target for FUZZ_SECONDS=60'
	@echo 'make check-jdks    read JVMs of JDK 8 to 28; check-kernels: record on kernels of Debian'
	@echo 'make check-compilers  build and record with many gcc and clang, in roots of Debian'
	@echo 'make check-machines   record on emulated machines: many CPUs, lockdown, SELinux, ..'
	@echo 'make check-distros make record and some tests in fresh roots of Debian 12, 13 and sid'
	@echo 'make soak          attach 1000 times, compile and unload for minutes, on JDK 11 to 25'
	@echo 'make soak-kills    kill 1000 recorders at random moments (part of soak)'
	@echo 'make deps          install what the build needs; deps-test what the tests need'
	@echo '                   SUITES= leaves out the packages whose tests can be skipped'
	@echo 'make check-fleet   faults and networks below a fleet of real daemons, in full'
	@echo 'make bench-fleet   ask 10,000 simulated nodes, and five real ones'
	@echo 'make install       to PREFIX=$(PREFIX); O=DIR V=1 as usual'
	@echo 'make install-systemd  the same, with the daemon'"'"'s unit and configuration'
	@echo 'make uninstall     removes both; configuration and profiles stay; make clean removes the build'

.PHONY: quick quick-build check-compilers check-more all static test test-build test-programs check check-distros check-fleet check-jdks check-kernels check-machines soak soak-kills lint fmt fuzz screens bench bench-fleet deps deps-test record install install-systemd uninstall clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
