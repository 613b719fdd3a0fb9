# SPDX-License-Identifier: Apache-2.0
# Sourced after tests/setup.sh. Sets $data, a folder with what models learn.
need_toolchain
need libeigen3-dev eigen3/Eigen/Core Eigen/Core
need libcli11-dev CLI/CLI.hpp
need libfmt-dev fmt/core.h
need gnuplot-nox gnuplot
need python3 python3
install_missing
data=$build/training
mkdir -p "$data"

# fetch PACKAGE FILE NAME: a file of a Debian package, unpacked and checked; nothing is installed.
fetch() {
  if [ ! -f "$data/$3" ]; then
    say "fetching $3 from Debian's $1"
    rm -rf "$data/package"
    mkdir -p "$data/package"
    (cd "$data/package" && apt-get download -q "$1" && dpkg -x ./*.deb .) ||
      die "could not fetch $1"
    gzip -dc "$data/package/$2" >"$data/$3.part"
    mv "$data/$3.part" "$data/$3"
    rm -rf "$data/package"
  fi
  (cd "$data" && grep " $3\$" "$root/bench/training/data.sha256" | sha256sum -c --quiet -) ||
    die "$data/$3 is not the file that bench/training/README.md tells of"
}
fetch jargon-text usr/share/doc/jargon-text/jargon.txt.gz jargon.txt

# Writes what ran, where and for how long since $started into a folder of results.
write_context() {
  cat >"$1/context.csv" <<END
what,value
processor,"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) of them"
compiler,"$(${CXX:-c++} --version | head -n 1)"
date,$(date -u +%Y-%m-%d)
commit,$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)
minutes,$((($(date +%s) - started + 59) / 60))
END
}
