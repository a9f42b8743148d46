#!/bin/bash
# A stand-in for GitHub's program `gh`. The folder `github` is the repository:
#   releases/TAG/   a release's assets; one whose upload was cut off ends with `.starter`
#   comments/ID     a comment of the pull request: its author, then its text
#   broken          a call that contains a line of it fails, as without a network
#   calls           each call
mkdir -p github/releases github/comments
echo "$*" >> github/calls
if [ -s github/broken ] && grep --quiet --fixed-strings --file=github/broken <<< "$*"; then
  echo "gh: Bad Gateway (HTTP 502)" >&2
  exit 1
fi

refuse() { echo "$1" >&2; exit 1; }

option() { # the value of an option among the words: option NAME WORDS…
  local name=$1
  shift
  while [ $# -gt 1 ]; do
    if [ "$1" = "$name" ]; then echo "$2"; return; fi
    shift
  done
}

case "$1 $2" in
  "release create") mkdir "github/releases/$3" || refuse "a release with the same tag exists" ;;
  "release view") [ -d "github/releases/$3" ] || refuse "release not found" ;;
  "release upload")
    [ -d "github/releases/$3" ] || refuse "release not found"
    asset="github/releases/$3/$(basename "$4")"
    if [ -e "$asset" ] || [ -e "$asset.starter" ]; then refuse "asset under the same name exists"; fi
    cp "$4" "$asset"
    ;;
  "release delete-asset") rm "github/releases/$3/$4" ;;
  "release download")
    asset="github/releases/$3/$(option --pattern "$@")"
    [ -e "$asset" ] || refuse "no assets match the file pattern"
    target=$(option --output "$@")
    cp "$asset" "${target:-$(option --dir "$@")/$(basename "$asset")}"
    ;;
  *"/releases/tags/"*)
    folder="github/releases/${2##*/}"
    [ -d "$folder" ] || refuse "gh: Not Found (HTTP 404)"
    for asset in "$folder"/*; do
      case "$asset" in
        *"/*") ;;
        *.starter) echo "starter $(basename "$asset" .starter)" ;;
        *) echo "uploaded $(basename "$asset")" ;;
      esac
    done
    ;;
  "api --paginate")
    for comment in github/comments/*; do
      if [ -e "$comment" ] && [ "$(sed 2q "$comment")" = "github-actions[bot]"$'\n'"$MARKER" ]; then
        basename "$comment"
      fi
    done
    ;;
  "api --method")
    body=$(option --field "$@")
    number=${4##*/}
    if [ "$3" = POST ]; then number=$(($(find github/comments -type f | wc -l) + 1)); fi
    { echo "github-actions[bot]"; cat "${body#body=@}"; } > "github/comments/$number"
    ;;
  *) refuse "the stand-in does not know: $*" ;;
esac
