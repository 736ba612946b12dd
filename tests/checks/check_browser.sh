#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_browser.sh: a browser shows the page of `leat report`: no errors, every chart has marks that can be seen, nothing
# is wider than the screen, on a wide screen, a phone and a dark one. Usage: check_browser.sh LEAT TREE
# Exit code 77: there is no browser here.
set -eu
leat=$1 samples=$2/tests/fuzz/corpus/fuzz_report
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || :)
[ -n "$browser" ] || { echo "SKIPPED: no chromium here (Debian's package chromium)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp" || :' EXIT # a helper of the browser may write still

"$leat" report "$samples"/*.json -o "$tmp/page.html" >/dev/null
figures=$(grep -c '<figure' "$tmp/page.html")
[ "$figures" -gt 10 ] || { echo "only $figures charts"; exit 1; }

# A script of the test looks at the page and writes what it finds into its title.
sed 's|</body>|<script>addEventListener("load", function () {\
    const seen = e => { const b = e.getBoundingClientRect(); return b.width * b.height > 0 \&\& b.right <= innerWidth + 1; };\
    const figures = [...document.querySelectorAll("figure")];\
    const good = figures.filter(f => [...f.querySelectorAll("svg")].filter(seen).length == 1 \&\&\
        [...f.querySelectorAll("svg")].filter(seen)[0].querySelectorAll(".mark").length > 0 \&\&\
        [...[...f.querySelectorAll("svg")].filter(seen)[0].querySelectorAll(".mark")].some(seen) \&\&\
        f.querySelectorAll("details td").length > 0);\
    document.title = "charts " + good.length + " of " + figures.length + ", too wide " +\
        (document.documentElement.scrollWidth > innerWidth) + ", dark " +\
        (getComputedStyle(document.body).backgroundColor == "rgb(26, 26, 25)");\
    });</script></body>|' "$tmp/page.html" >"$tmp/test.html"

# A window is 500 wide at least; a frame can be a phone's.
cat >"$tmp/phone.html" <<'PAGE'
<iframe src="test.html" style="width: 400px; height: 900px; border: 0"></iframe>
<script>addEventListener("load", () => { document.title = frames[0].document.title; });</script>
PAGE

look() { # page, size, what the title must say, option...
    page=$1 size=$2 expected=$3
    shift 3
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$tmp/profile" \
        --enable-logging=stderr --window-size="$size" "$@" --allow-file-access-from-files --dump-dom "file://$tmp/$page" >"$tmp/dom" 2>"$tmp/log" ||
        { tail -5 "$tmp/log"; echo "the browser failed at $size"; exit 1; }
    if grep 'CONSOLE' "$tmp/log"; then
        echo "the browser complains at $size"
        exit 1
    fi
    title=$(sed -n 's|.*<title>\(charts [^<]*\)</title>.*|\1|p' "$tmp/dom" | head -1)
    [ "$title" = "$expected" ] || { echo "at $size: '$title' instead of '$expected'"; exit 1; }
}
look test.html 1100,900 "charts $figures of $figures, too wide false, dark false"
look phone.html 500,900 "charts $figures of $figures, too wide false, dark false"
look test.html 1100,900 "charts $figures of $figures, too wide false, dark true" --blink-settings=preferredColorScheme=0
echo "$figures charts seen in $("$browser" --version 2>/dev/null | head -1)"
