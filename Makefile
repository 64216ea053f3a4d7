# SPDX-License-Identifier: Apache-2.0
# sysflame: `make record` to try it, `make check` to test it, `make help` for the rest.

O       ?= build
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
CFLAGS  ?= -O2 -g
# Of the compiler: a cross compiler builds for its processor.
ARCH    := $(if $(findstring aarch64,$(shell $(CC) -dumpmachine 2>/dev/null)),arm64,x86)
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
SUITES    := $(DEPS_MORE) tmux musl-tools chromium-headless-shell nodejs npm protobuf-compiler \
	     libjemalloc2 libtcmalloc-minimal4|libtcmalloc-minimal4t64 hey slowhttptest \
	     clojure libcheshire-clojure tomcat10-user qemu-system-x86 qemu-system-arm cpio \
	     gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user golang-go linux-perf nats-server debuginfod \
	     podman runc catatonit libslf4j-java liblogback-java liblog4j2-java

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
ALL_CFLAGS = -std=gnu11 $(WARN) $(PATHS) $(DEFS) -MMD -MP -Iuser -Ibpf -Ibpf/arch/$(ARCH) -I. -I$(O)/gen $(CPPFLAGS) $(CFLAGS)
BPF_CFLAGS = -target bpf -mcpu=v3 -O2 -g -Wall $(ERROR) $(PATHS) -MMD -MP \
	     -D__TARGET_ARCH_$(ARCH) -Ivmlinux/$(ARCH) -Ibpf -Ibpf/arch/$(ARCH)
LIBS       = -lpcre2-8 -lseccomp -lbpf -lelf -lz -llzma -liberty -ljansson -lmicrohttpd -lprotobuf-c -lsqlite3 -lzstd -lnats -lcurl -lcrypto -lncursesw -ltinfo $(capstone) -lm
for_arm64  = $(filter arm64,$(ARCH))
AGENT_FLAGS = -std=gnu11 $(WARN) $(PATHS) -O2 -g -MMD -MP -I. $(JVMTI) -fPIC -ffreestanding -nostdlib \
	     -fno-stack-protector -fvisibility=hidden -fno-omit-frame-pointer -fno-plt \
	     -fno-tree-loop-distribute-patterns \
	     $(if $(for_arm64),-mno-outline-atomics)
# Pages of 64 KB would be filled up to protect a few pointers.
AGENT_LINK = -shared -Wl,-z,now,-z,$(if $(for_arm64),norelro,relro),-z,noexecstack,-z,defs -Wl,--hash-style=both \
	     -Wl,--build-id -Wl,-Bsymbolic -Wl,--strip-debug -Wl,-soname,libjvmmap.so

# libbpf's linker must see a map's definition before any extern use of it.
bpf_first  := bpf/ring.bpf.c bpf/node/tables.bpf.c
bpf_other  := bpf/events/skipped.bpf.c bpf/remote.bpf.c bpf/virtual.bpf.c
bpf_srcs   := $(bpf_first) bpf/maps.bpf.c $(filter-out $(bpf_first) bpf/maps.bpf.c $(bpf_other),$(wildcard bpf/*.bpf.c bpf/events/*.bpf.c bpf/unwind/*.bpf.c bpf/arch/$(ARCH)/*.bpf.c))
node_srcs  := $(bpf_first) $(filter-out $(bpf_first),$(wildcard bpf/node/*.bpf.c))
user_srcs  := $(wildcard user/*/*.c user/*/*/*.c)
proto_dirs := user/export/interchange user/fleet/wire user/push
protos     := $(patsubst %.proto,%.pb-c,$(notdir $(wildcard $(proto_dirs:%=%/*.proto))))
vpath %.proto $(proto_dirs)
user_objs  := $(user_srcs:%.c=$(O)/%.o) $(protos:%=$(O)/gen/%.o)
agent_objs := $(patsubst %.c,$(O)/%.o,$(wildcard jvmmap/*.c))
assets     := $(wildcard user/ui/page/*.* user/ui/page/*/*.*)
ui         := $(wildcard user/ui/daemon/*)
skeletons  := $(O)/gen/node.skel.h $(O)/gen/recording.skel.h $(O)/gen/remote.skel.h $(O)/gen/skipped.skel.h $(O)/gen/virtual.skel.h
generated  := $(skeletons) $(O)/gen/core_type_names.h $(O)/gen/page.h $(O)/gen/ui.h $(protos:%=$(O)/gen/%.h)

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

# The unwinder's BPF sources on the host: stand-ins for kernel types and helpers come first.
$(O)/user/capture/unwind/walker.o: ALL_CFLAGS := -Ibpf/host $(ALL_CFLAGS)
$(O)/user/jvm/labels/value_reader.o: ALL_CFLAGS := -Ibpf/host $(ALL_CFLAGS)

$(O)/%.o: %.c | $(generated)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/%.bpf.o: %.bpf.c | $(tools)
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(O)/gen/node.skel.h: $(node_srcs:%.bpf.c=$(O)/%.bpf.o)
$(O)/gen/remote.skel.h: $(O)/bpf/remote.bpf.o
$(O)/gen/virtual.skel.h: $(O)/bpf/virtual.bpf.o
$(O)/gen/recording.skel.h: $(bpf_srcs:%.bpf.c=$(O)/%.bpf.o)
# The recording's programs and one more, so that both have the same variables.
$(O)/gen/skipped.skel.h: $(bpf_srcs:%.bpf.c=$(O)/%.bpf.o) $(O)/bpf/events/skipped.bpf.o
# This file has the lists: a source that leaves one must leave the skeleton.
$(skeletons): $(O)/gen/%.skel.h: $(here)Makefile
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(O)/$*.bpf.o $(filter %.o,$^) && \
	  $(BPFTOOL) gen skeleton $(O)/$*.bpf.o name $*_skel > $@

# The names of the types in these objects, for capture/programs/kernel_types.c. After ___ a name has a flavor.
$(O)/gen/core_type_names.h: $(skeletons)
	$(call say,TYPES,$@)
	$(Q)for o in node recording remote skipped virtual; do $(BPFTOOL) btf dump file $(O)/$$o.bpf.o format raw; done | \
	  sed -nE "s/^\[[0-9]+\] (STRUCT|UNION|ENUM|ENUM64|TYPEDEF) '([A-Za-z0-9_]+)'.*/\2/p" | \
	  sed 's/___.*//' | LC_ALL=C sort -u | sed 's/.*/"&",/' > $@
	$(Q)test -s $@

# The page's script and style as C strings, with the hashes that its security policy names.
$(O)/gen/page.h: user/ui/embed-page $(assets)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && user/ui/embed-page $(assets) > $@

# The files of the daemon's user interface.
$(O)/gen/ui.h: user/ui/embed-daemon $(ui)
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && user/ui/embed-daemon $(ui) > $@

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: %.proto
	$(call say,PROTO,$(O)/gen/$*.pb-c.c)
	$(Q)mkdir -p $(@D) && protoc-c -I$(<D) --c_out=$(O)/gen $<

# What a schema becomes is compiled like any other source.
$(O)/gen/%.pb-c.o: $(O)/gen/%.pb-c.c
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(O)/jvmmap/%.o: jvmmap/%.c
	$(call say,AGENT,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(AGENT_FLAGS) -c $< -o $@

$(O)/libjvmmap.so: $(agent_objs)
	$(call say,LINK,$@)
	$(Q)$(CC) $(AGENT_FLAGS) $(AGENT_LINK) $^ -o $@

lint: $(user_objs) $(agent_objs)
	$(Q)tests/lint/format --dry-run -Werror $(sources)
	$(Q)tests/lint/layers $(filter user/%,$(sources))
	$(Q)tests/lint/circles $(user_srcs:%.c=$(O)/%.o)
	$(Q)tests/lint/circles $(agent_objs)
	$(Q)tests/lint/tasks $(filter %_task.o,$(user_objs))
	$(Q)tests/lint/unused $(filter user/%,$(sources))
	$(Q)tests/lint/shape $(filter-out vmlinux/%,$(sources)) $(filter %.js,$(assets) $(ui))
	$(Q)tests/lint/headers $(filter-out vmlinux/%,$(sources))
	$(Q)tests/lint/users $(sources)
	$(Q)tests/lint/prose
	$(Q)tests/lint/counters
	$(Q)tests/lint/licences
	$(Q)tests/lint/registered $(shell grep -l "^run_tests " tests/*/test_*)

fmt:
	$(Q)tests/lint/format -i $(sources)

deps:
	$(Q)tests/lib/apt-ensure $(DEPS) --optional $(DEPS_MORE)

deps-test:
	$(Q)tests/lib/apt-ensure $(DEPS_TEST) --optional '$(SUITES)'
	$(if $(filter npm,$(SUITES)),$(Q)tests/lib/npm-ensure tests/web && tests/lib/npm-ensure tests/kubernetes)

# The build's libraries for arm64 lie in a folder of their own: tests/lib/arm64-root. Its pkg-config modules name no /.
cross_libs = libc6-dev libcapstone-dev $(filter lib%-dev zlib1g-dev uthash-dev,$(DEPS))
cross      = PKG_CONFIG_SYSROOT_DIR=$$root PKG_CONFIG_LIBDIR=$$root/usr/lib/aarch64-linux-gnu/pkgconfig:$$root/usr/share/pkgconfig \
	     $(MAKE) --no-print-directory O=$(O)/arm64 CC="aarch64-linux-gnu-gcc --sysroot=$$root"

cross-arm64:
	$(Q)command -v aarch64-linux-gnu-gcc >/dev/null || { echo 'cross-arm64 needs gcc-aarch64-linux-gnu: make deps-test installs it' >&2; exit 1; }
	+$(Q)root=$$(tests/lib/arm64-root ensure $(cross_libs)) && $(cross) all $(WITH:%=$(O)/arm64/%)

record:
	$(Q)tests/lib/as-root "recording"
	$(Q)$(MAKE) --no-print-directory deps
	$(Q)$(MAKE) --no-print-directory $(if $(Q),-s) all $(O)/tests/programs/.java
	$(Q)O=$(O) tests/lib/record-sample

help::
	@echo 'make record        profile this node for 10 s next to a sample Java program: flame.html'
	@echo '                   (as root, or as a user who may run sudo: make calls it where needed)'
	@echo 'make               build $(O)/sysflame and $(O)/libjvmmap.so; O=DIR V=1 as usual'
	@echo 'make cross-arm64   build for arm64 in $(O)/arm64, with libraries that are downloaded once'
	@echo 'make deps          install what the build needs; deps-test what the tests need'
	@echo '                   SUITES= leaves out the packages whose tests can be skipped'

include $(here)tests/Makefile $(here)pkg/Makefile

.PHONY: all cross-arm64 lint fmt deps deps-test record help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
