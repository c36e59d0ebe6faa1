# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder, which source it: packages, builds, what is said on the way.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)
export NINJA_STATUS='[%f/%t %es] '

packages_to_build=(g++ cmake ninja-build pkg-config ccache git python3
  flatbuffers-compiler libflatbuffers-dev liblua5.4-dev libvectorscan-dev libre2-dev libsimdjson-dev libfmt-dev
  libprotobuf-dev protobuf-compiler libcli11-dev libxxhash-dev libzstd-dev zlib1g-dev libsnappy-dev librdkafka-dev doctest-dev nlohmann-json3-dev libbenchmark-dev
  libboost1.81-dev libcurl4-openssl-dev libssl-dev libyaml-cpp-dev prometheus-cpp-dev clang libbpf-dev)
packages_to_fuzz=(clang-16 libclang-rt-16-dev)
packages_to_lint=(clang-16 clang-format-14 clang-tidy-16)
packages_to_count=(valgrind)
packages_to_train=(python3-torch)
packages_to_browse=(chromium)
# Servers that tests start on ports of their own.
packages_to_serve=(python3-venv prometheus-alertmanager prometheus prometheus-node-exporter openssl python3-aiosmtpd maven default-jre-headless libfaketime)

say() { printf '\n==> %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Which of the packages given are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' || printf '%s\n' "$package"
  done
}

# Installs what is missing of the packages given; does nothing, and quickly, where nothing is.
install_packages() {
  command -v apt-get >/dev/null || fail "this script installs Debian packages, and there is no apt-get here; it needs: $*"
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      fail "packages are missing, and neither root nor sudo is at hand. Run as root: apt-get install ${missing[*]}"
    fi
  fi
  say "Installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update || printf 'warning: apt-get update failed; trying with the lists that are here\n' >&2
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install: ${missing[*]} (Debian 12 has all of them; see above what it said)"
}

# The same for servers. Where Debian's package starts one as a service of the system, that is ended again: tests start their own.
install_servers() {
  local missing server
  mapfile -t missing < <(missing_packages "$@")
  install_packages "$@"
  command -v systemctl >/dev/null && [ -d /run/systemd/system ] || return 0
  for server in "${missing[@]}"; do
    if systemctl -q is-active "$server" 2>/dev/null; then
      if [ "$(id -u)" = 0 ]; then systemctl -q disable --now "$server"; else sudo systemctl -q disable --now "$server"; fi
    fi
  done
}

# Clients in Python that tests run, in build/tools. Without them their tests are skipped.
install_tools() {
  local wanted=$root/tests/requirements.txt tools=$root/build/tools
  if cmp -s "$wanted" "$tools/requirements.txt"; then return 0; fi
  say "Installing $(grep -c == "$wanted") clients in build/tools"
  rm -rf "$tools"
  /usr/bin/python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check -r "$wanted" &&
    cp "$wanted" "$tools/" || printf 'warning: the clients of %s could not be installed\n' "$wanted" >&2
}

# configure PRESET, build PRESET [TARGET...]
configure() {
  local log=$root/build/configure-$1.log
  mkdir -p "$root/build"
  (cd "$root" && cmake --preset "$1" -Wno-dev) >"$log" 2>&1 || { cat "$log" >&2 && return 1; }
}
build() {
  local preset=$1 target targets=()
  shift
  for target in "$@"; do targets+=(--target "$target"); done
  configure "$preset" &&
    (cd "$root" && cmake --build --preset "$preset" -j "$jobs" "${targets[@]}")
}

# minutes SECONDS: "3 min 20 s"
minutes() { if [ "$1" -lt 60 ]; then printf '%d s' "$1"; else printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); fi; }
