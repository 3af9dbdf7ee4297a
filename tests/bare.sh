#!/bin/sh
# What a minimal Debian has (python3, pip, make, git, nothing more) is enough: for `make bare`.
#
# Makes a root with debootstrap, which needs root's permissions, and runs the commands given there in
# a bare clone (default: the demo, a report of an installed package, and all tests). --root makes the
# root alone; --quick collects all tests and runs those of files, reports and pictures only.
set -eu
root=${BARE_ROOT:-/var/tmp/lacunet-bare}
here=$(git rev-parse --show-toplevel)
suite=${BARE_SUITE:-bookworm}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap > /dev/null; then
  echo "make bare needs root's permissions and debootstrap (apt-get install debootstrap)" >&2
  exit 2
fi

if [ ! -e "$root/.made" ]; then
  # BARE_MIRROR: where Debian's packages come from (default: where apt takes them from).
  mirror=${BARE_MIRROR:-$(apt-get indextargets --format '$(SITE)' "Codename: $suite" \
    'Created-By: Packages' 2> /dev/null | head -n 1)}
  debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,make,git,ca-certificates \
    "$suite" "$root" ${mirror:+"$mirror"}
  touch "$root/.made"
fi
mounted=
unmount() {
  for place in $mounted; do umount "$place"; done
}
trap unmount EXIT
mount -t proc proc "$root/proc"
mounted="$root/proc"
[ "${1:-}" != --root ] || exit 0
for folder in ${BARE_FOLDERS:-}; do # of package indexes, as BARE_FOLDERS="/srv/wheels"
  mkdir -p "$root$folder"
  mount --bind -o ro "$folder" "$root$folder"
  mounted="$root$folder $mounted"
done
cp /etc/resolv.conf "$root/etc/resolv.conf"
for config in /etc/pip.conf "$HOME/.config/pip/pip.conf" "${PIP_CERT:-}"; do
  if [ -f "$config" ]; then mkdir -p "$root$(dirname "$config")" && cp "$config" "$root$config"; fi
done

rm -rf "$root/root/lacunet"
git clone --quiet "$here" "$root/root/lacunet"
in_root() {
  # shellcheck disable=SC2046 # one word for each setting of pip and of a proxy
  env -i HOME="$HOME" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 \
    $(env | grep -i -E '^(PIP_[A-Z_]+|[a-z]+_proxy)=[^ ]*$' || true) \
    chroot "$root" sh -c "cd /root/lacunet && $1"
}
case "${1:-}" in
  "") tests="make test" ;;
  --quick)
    pytest=".venv/bin/python -m pytest -q"
    quick="-m 'not slow and not long' --hypothesis-profile=quick"
    tests="make .venv/.dev && $pytest --collect-only src/lacunet tests > /tmp/tests \
      && tail -n 1 /tmp/tests && $pytest $quick tests/formats tests/report tests/robust/test_wheels.py"
    ;;
  *)
    in_root "$*"
    exit
    ;;
esac
in_root "make demo"
in_root "rm -rf /root/installed && python3 -m venv /root/installed \
  && /root/installed/bin/pip install --quiet . \
  && /root/installed/bin/lacunet fit src/lacunet/data/bundled/survey.csv --classes 2 --overwrite \
    --report /root/report.html && grep -q '<svg' /root/report.html"
in_root "$tests"
