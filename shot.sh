chromium --headless --no-sandbox --hide-scrollbars --virtual-time-budget=4000 --screenshot=/tmp/tl/$2 --window-size=${3:-1280,2600} file:///tmp/tl/$1 >/dev/null 2>&1
