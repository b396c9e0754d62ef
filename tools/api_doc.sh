#!/bin/sh
# api_doc.sh - writes docs/API.md from include/tilewright.h, tilewright_mpi.h, tilewright_pblas.h and tilewright_blas.h: a section for
# each declaration, or for those that share a comment, with its code and its comment. With --check it writes nothing and
# fails if the file is not what it would write.
set -eu
cd "$(dirname "$0")/.."
headers='include/tilewright.h include/tilewright_mpi.h include/tilewright_pblas.h include/tilewright_blas.h'
new=$(mktemp -d "${TMPDIR:-/tmp}/tilewright-docs.XXXXXX")
trap 'rm -rf "$new"' EXIT

# page PART FILE - index: a list of the names; sections: the page below it; names: each name that has a section.
# A header consists of chunks, with empty lines between them: a comment, then declarations. Each begins at the margin.
page() {
    awk -v part="$1" '
        # Names stay as they are.
        function upper(text) { return text ~ /^[a-z]+_/ ? text : toupper(substr(text, 1, 1)) substr(text, 2) }
        function prose(text) { gsub(/[*<|\\`]|\[/, "\\\\&", text); return text }
        function anchor(heading) {
            gsub(/[^A-Za-z0-9_ -]/, "", heading); gsub(/ /, "-", heading)
            return "#" tolower(heading)
        }
        function fence(kind, text) { print "```" kind "\n" text "```\n" }
        function wrap(text,    count, words, line, i) { # a list entry, in lines of 120
            count = split(text, words, " ")
            line = "-"
            for (i = 1; i <= count; i++) {
                if (length(line " " words[i]) > 120) { print line; line = " " }
                line = line " " words[i]
            }
            print line
        }
        function add_name(name) { # one more of the chunk
            if (name in mine) return
            mine[name] = 1
            heading = heading (heading != "" ? ", " : "") name; name_of[++names] = name
        }
        # The comment without its stars: its first paragraph without the name before it is `lead`, all behind it `rest`.
        function take_comment(    i, line, behind) {
            for (i = 1; i <= comments; i++) {
                line = comment[i]
                sub(/ *\*\/ *$/, "", line); sub(/^ ?\/?\* ?/, "", line)
                if (!behind && i > 1 && line ~ /^( *|[^ ]+(, [^ ]+)*   .*)$/) { behind = 1; if (line == "") continue }
                if (behind) rest = rest line "\n"
                else lead = lead line "\n"
            }
            sub(/\n+$/, "\n", rest)
        }
        function end_of_chunk(    i, about, text) {
            if (code == "" && comments > 0 && !headed) { # what the header says of itself
                take_comment()
                sub(/^[a-z_]+\.h - /, "", lead)
                text = upper(lead) "\n" rest
                if (part == "sections") { print "## " file "\n"; fence("text", text) }
                if (part == "index") print "[" file "](" anchor(file) "):\n"
                headed = 1
            } else if (code != "" && names > 0) {
                take_comment()
                if (names > 8) heading = name_of[1] " and " names - 1 " more"
                if (part == "names") for (i = 1; i <= names; i++) print name_of[i]
                about = lead
                sub(/^[A-Za-z0-9_, ]+ - /, "", about)
                if (part == "sections") {
                    print "### " heading "\n"
                    if (about != "") printf "%s\n", prose(upper(about))
                    fence("c", code)
                    if (rest != "") fence("text", rest)
                }
                if (part == "index") {
                    gsub(/\n/, " ", about)
                    sub(/[.:] .*/, "", about); sub(/[.: ]+$/, "", about)
                    if (about ~ /^[A-Z][a-z]/) about = tolower(substr(about, 1, 1)) substr(about, 2)
                    text = ""
                    for (i = 1; i <= names; i++) text = text (i > 1 ? ", " : "") "[" name_of[i] "](" anchor(heading) ")"
                    wrap(text (about != "" ? ": " prose(about) : ""))
                }
            }
            comments = names = 0
            code = lead = rest = heading = ""
            split("", mine)
        }
        function braces(line) { sub(/\/\*.*|^ +\*.*/, "", line); return gsub(/{/, "", line) - gsub(/}/, "", line) }
        FNR == 1 { file = FILENAME; sub(/.*\//, "", file) }
        # in a comment at the margin
        inside { comment[++comments] = $0; if (/\*\//) inside = 0; next }
        depth == 0 && /^\/\* ---- / {
            end_of_chunk()
            gsub(/^\/\* -+ | -+ \*\/$/, "")
            if (part == "index") print "\n" upper($0) ":\n"
            next
        }
        depth == 0 && /^\/\*/ { end_of_chunk(); comment[++comments] = $0; inside = !/\*\//; next }
        depth == 0 && /^$/ { end_of_chunk(); next }
        /^#define [A-Z][A-Z0-9_]* [0-9("]/ && !skipped { code = code $0 "\n"; add_name($2); next }
        depth == 0 && (/^#/ || /^extern "C" {/ || /^}$/) { next }
        # the body of an inline function
        skipped { depth += braces($0); if (depth == 0) skipped = 0; next }
        depth == 0 && /^{/ { sub(/\n$/, ";\n", code); depth = 1; skipped = 1; next }
        {
            if (depth == 0 && !continued) {
                if (/^typedef (struct|enum|union) [A-Za-z0-9_]+/) add_name($3)
                else if (match($0, /[A-Za-z0-9_]+\(/)) add_name(substr($0, RSTART, RLENGTH - 1))
            }
            line = $0
            if (sub(/^TW_API /, "", line)) exported = 1
            else if (!continued) exported = 0
            else if (exported) sub(/^       /, "", line) # below the parenthesis again
            code = code line "\n"
            depth += braces($0)
            line = $0
            sub(/ *\/\*.*/, "", line)
            continued = depth == 0 && line !~ /;$/ && !/^static inline .*\)$/
        }
        END { end_of_chunk() }' "$2"
}

{
    cat <<'TEXT'
<!-- Made by ./dev docs from include/tilewright.h, tilewright_mpi.h, tilewright_pblas.h and tilewright_blas.h: edit those. -->
# API reference

What the C headers declare, in their own words and order. [GUIDE.md](GUIDE.md#call-it-from-c) shows how to use it,
[examples/](../examples/README.md) has whole programs.

TEXT
    for header in $headers; do page index "$header" && echo; done
    for header in $headers; do page sections "$header"; done | sed '$d'
} >"$new/API.md"

# A name that is exported, or a type, and has no section was not understood.
for header in $headers; do
    page names "$header" | sort >"$new/names"
    {
        sed -n 's/^TW_API.*[ *]\([a-z_0-9]*\)(.*/\1/p; s/^\(extern \)\{0,1\}void \([a-z_]*\)(.*/\2/p' "$header"
        sed -n 's/^static inline .*[ *]\([a-z_0-9]*\)(.*/\1/p' "$header"
        sed -n 's/^typedef .*[ }]\([A-Za-z_0-9]*\);.*/\1/p; s/^} \([A-Za-z_0-9]*\);.*/\1/p' "$header"
    } | sort -u | comm -23 - "$new/names" >"$new/lost"
    [ -s "$new/lost" ] || continue
    echo "$header: tools/api_doc.sh does not understand the declaration of $(paste -s -d ' ' "$new/lost")" >&2
    exit 1
done
if [ "${1:-}" != --check ]; then
    cmp -s "$new/API.md" docs/API.md || cp "$new/API.md" docs/API.md
elif ! diff -u docs/API.md "$new/API.md"; then
    echo "not fresh: docs/API.md: run ./dev docs" >&2 && exit 1
fi
