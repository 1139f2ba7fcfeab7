-- Scripts run inside Redis and inside the embedded engine: Lua 5.1 with what Redis adds.
std = "lua51"
max_line_length = 100
read_globals = {"constant", "code", "redis", "KEYS", "ARGV", "cjson", "cmsgpack", "struct", "bit"}
