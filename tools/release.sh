#!/bin/sh
# release.sh - ./dev release: a release of the last commit. In a clone it gives VERSION to all that repeats it, and the
# change log today's date, commits that, and checks the commit by tools/release_check.sh, which makes the packages too.
# With --tag the branch then takes the commit, and gets a signed tag there and the ABI's new baseline behind it. Without,
# nothing outside build/release changes.
#
#   tools/release.sh [--tag] VERSION [OPTION-OF-RELEASE-CHECK ...]
set -eu
cd "$(dirname "$0")/.."
fail() { echo "release.sh: $*" >&2 && exit 1; }

tag='' && [ "${1:-}" != --tag ] || { tag=1 && shift; }
version=${1:?usage: tools/release.sh [--tag] VERSION [OPTION-OF-RELEASE-CHECK ...]} && shift
echo "$version" | grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' || fail "the version is '$version', expected MAJOR.MINOR.PATCH"
coming=$(tools/version.sh) heading=$(grep -m 1 '^## ' CHANGELOG.md) day=$(date -u +%Y-%m-%d)
[ "$heading" = "## $coming - unreleased" ] || fail "CHANGELOG.md begins with '$heading', expected '## $coming - unreleased'"
[ "$(printf '%s\n' "$coming" "$version" | sort -V | tail -n 1)" = "$version" ] || fail "$version is below $coming, which the tree has"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || fail "there is a tag v$version"
[ -z "$(git status --porcelain)" ] || fail "these changes are not committed: $(git status --short)"
git symbolic-ref -q HEAD >/dev/null || fail 'no branch is checked out'
parent=$(git rev-parse HEAD)
# Asked now, not behind hours of checks: who commits, and a signature, of a commit that no branch has.
git var GIT_COMMITTER_IDENT >/dev/null || fail 'git does not know who commits: it needs user.name and user.email'
[ -z "$tag" ] || git commit-tree -S -m 'A signature, tried' 'HEAD^{tree}' >/dev/null || fail 'git cannot sign: it needs a user.signingkey'

# The commit of a run before is kept: so is what was built of it.
folder=$PWD/build/release/$version && tree=$folder/tree
if [ "$(git -C "$tree" log -1 --format=%P,%s 2>/dev/null)" != "$parent,Release $version, $day" ]; then
    rm -rf "$folder" && mkdir -p "$folder" && git clone --quiet "$PWD" "$tree"
    "$tree/tools/version.sh" --set "$version" "$day"
    "$tree/tools/api_doc.sh"
    git -C "$tree" -c user.name="$(git config user.name)" -c user.email="$(git config user.email)" \
        commit --quiet --all --message "Release $version, $day"
fi
git -C "$tree" --no-pager show --stat
"$tree/tools/release_check.sh" --folder "$folder/check" "$@"
[ ! -e "$folder/check/one" ] || echo "The packages: $folder/check/one"
[ -n "$tag" ] || { echo "A dry run: nothing is tagged. With --tag it is, as v$version." && exit 0; }

# Hours later.
[ "$(git rev-parse HEAD)" = "$parent" ] && [ -z "$(git status --porcelain)" ] || fail 'the tree changed meanwhile: nothing is tagged'
git fetch --quiet "$tree" HEAD
git tag --sign --message "Tilewright $version" "v$version" FETCH_HEAD
git merge --quiet --ff-only FETCH_HEAD
if [ -e "$folder/check/clone/build/abi" ]; then
    tools/abi.py write "$folder/check/clone/build/abi"
    git diff --quiet -- abi || git commit --quiet --message "Take the ABI of $version as the baseline" abi
else
    echo "The step abi was left out: abi/ keeps the baseline of the release before."
fi
echo "Tagged v$version. Next: git push --follow-tags, and tools/version.sh --set for the version to come: docs/RELEASE.md"
