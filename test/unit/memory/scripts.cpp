// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/lua_host.hpp"
#include "engine_fixture.hpp"

namespace holdfast::memory_test {
namespace {

using namespace std::chrono_literals;

class scripts : public engine_test {
protected:
    // What the script answers; the sha in its errors is shown as <sha>.
    std::string run(const std::string& source) {
        std::string text = say("EVAL", source, "0");
        const std::string sha = script(source).sha1();
        if (const auto at = text.find(sha); at != std::string::npos) text.replace(at, 40, "<sha>");
        return text;
    }
};

TEST_F(scripts, values_become_replies_by_the_rules_of_redis) {
    EXPECT_EQ(run("return {1.9, -1.9, 'a', true, false, {ok='fine'}, {err='BAD x'}, {1, {2}}}"),
              "[(integer) 1, (integer) -1, \"a\", (integer) 1, (nil), fine, (error) BAD x, "
              "[(integer) 1, [(integer) 2]]]");
    EXPECT_EQ(run("return {1, 2, nil, 4}"), "[(integer) 1, (integer) 2]");
    EXPECT_EQ(run("return {double=3.5}"), R"("3.5")");
    EXPECT_EQ(run("return redis.error_reply('oops')"), "(error) ERR oops");
    EXPECT_EQ(run("return redis.status_reply('FINE')"), "FINE");
}

TEST_F(scripts, replies_become_values_by_the_rules_of_redis) {
    EXPECT_EQ(run("return type(redis.call('GET', 'none'))"), R"("boolean")");
    EXPECT_EQ(run("return redis.call('SET', 'k', 1.5).ok .. redis.call('GET', 'k')"), R"("OK1.5")");
    EXPECT_EQ(run("return #redis.call('MGET', 'a', 'b', 'c')"), "(integer) 3");
    EXPECT_EQ(run("return redis.pcall('GET').err"),
              R"("ERR Wrong number of args calling Redis command from script")");
}

TEST_F(scripts, an_error_says_where_it_happened) {
    EXPECT_EQ(run("\n\nreturn redis.call('NOPE')"),
              "(error) ERR Unknown Redis command called from script script: <sha>, on "
              "@user_script:3.");
    ask("RPUSH", "l", "a");
    EXPECT_EQ(run("local function f() return redis.call('GET', 'l') end\nreturn f()"),
              "(error) WRONGTYPE Operation against a key holding the wrong kind of value script: "
              "<sha>, on @user_script:1.");
    EXPECT_EQ(run("error('boo')"),
              "(error) ERR user_script:1: boo script: <sha>, on @user_script:1.");
}

TEST_F(scripts, globals_are_protected) {
    EXPECT_EQ(run("x = 1"),
              "(error) ERR user_script:1: Attempt to modify a readonly table script: <sha>, on "
              "@user_script:1.");
    EXPECT_EQ(run("return y"),
              "(error) ERR user_script:1: Script attempted to access nonexistent global variable "
              "'y' script: <sha>, on @user_script:1.");
    for (const char* attack : {"redis.call = nil", "string.rep = nil", "rawset(_G, 'z', 1)",
                               "setmetatable(_G, {})", "rawset(redis, 'call', 1)"}) {
        EXPECT_TRUE(ask("EVAL", attack, "0").is_error()) << attack;
    }
}

TEST_F(scripts, there_is_no_way_out_of_the_sandbox) {
    for (const char* name : {"io", "os", "package", "debug", "ffi", "jit", "require", "dofile",
                             "loadfile", "print", "getfenv", "setfenv", "newproxy", "module"}) {
        EXPECT_TRUE(ask("EVAL", std::string("return ") + name, "0").is_error()) << name;
    }
    EXPECT_EQ(run("local f = loadstring(string.dump(function() return 1 end)) return tostring(f)"),
              R"("nil")");
    EXPECT_EQ(run("return loadstring('return 1 + 1')()"), "(integer) 2");
}

TEST_F(scripts, a_runaway_script_is_ended) {
    const auto bounded = make_memory_engine({.time = &time, .script_steps = 1'000'000});
    for (const char* source :
         {"while true do end", "local function f() return f() end return f()",
          "while true do pcall(function() while true do end end) end",
          "while true do xpcall(function() while true do end end, function() end) end",
          "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
          "repeat redis.pcall('PING') until false",
          "local c = coroutine.wrap(function() while true do end end) return c()"}) {
        const auto c = words("EVAL", source, 0);
        const auto answer = bounded->execute(c, no_limit);
        ASSERT_FALSE(answer) << source;
        EXPECT_NE(answer.error().detail.find("steps"), std::string::npos) << answer.error().detail;
    }
    EXPECT_TRUE(bounded->execute(words("EVAL", "return 1", 0), no_limit));
}

TEST_F(scripts, a_script_that_wants_all_memory_fails_and_the_next_one_runs) {
    const auto small = make_memory_engine({.time = &time, .script_memory = 4 * 1024 * 1024});
    const auto hog = words("EVAL", "local t = {} for i = 1, 1e9 do t[i] = 'x' .. i end", 0);
    EXPECT_FALSE(small->execute(hog, no_limit));
    EXPECT_TRUE(small->execute(words("EVAL", "return 1", 0), no_limit));
}

TEST_F(scripts, a_script_sees_one_time) {
    EXPECT_EQ(run("local a = redis.call('TIME') for i = 1, 1000 do redis.call('PING') end "
                  "local b = redis.call('TIME') return a[1] == b[1] and a[2] == b[2]"),
              "(integer) 1");
}

TEST_F(scripts, a_read_only_script_cannot_write) {
    EXPECT_TRUE(ask("EVAL_RO", "return redis.call('SET', 'k', 'v')", "0").is_error());
    EXPECT_EQ(say("EVAL_RO", "return redis.call('GET', KEYS[1])", "1", "k"), "(nil)");
    EXPECT_TRUE(
        ask("EVAL", "#!lua flags=no-writes\nreturn redis.call('SET', 'k', 'v')", "0").is_error());
}

TEST_F(scripts, an_unknown_sha_is_noscript_unless_the_command_brings_its_body) {
    const script body("return ARGV[1]");
    const auto list = words("EVALSHA", body.sha1(), 0, "hello");
    EXPECT_EQ(shown(ask("EVALSHA", body.sha1(), "0", "hello")),
              "(error) NOSCRIPT No matching script. Please use EVAL.");
    command c = list;
    c.body = &body;
    EXPECT_EQ(shown(*engine->execute(c, no_limit)), R"("hello")");
    ask("SCRIPT", "FLUSH");
    EXPECT_EQ(shown(*engine->execute(c, no_limit)), R"("hello")");
}

TEST_F(scripts, however_a_script_names_its_keys_it_finds_them) {
    const auto on_key = [&](const std::string& source) {
        return say("EVAL", source, "1", "key", "arg");
    };
    EXPECT_EQ(on_key("return {KEYS[1], ARGV[1], #KEYS}"), R"(["key", "arg", (integer) 1])");
    EXPECT_EQ(on_key("return {_G.KEYS[1], _G['ARGV'][1]}"), R"(["key", "arg"])");
    EXPECT_EQ(on_key("return loadstring('return KEYS[1]')()"), R"("key")");
    EXPECT_EQ(on_key("local k, r = KEYS, redis return r.call('ECHO', k[1])"), R"("key")");
    EXPECT_EQ(on_key("local f = function(KEYS) return KEYS[1] end return f({'mine'})"),
              R"("mine")");
    EXPECT_EQ(on_key("local t = {KEYS = 1, redis = {call = function() return 2 end}} "
                     "return {t.KEYS, t.redis.call(), select('#', unpack(KEYS))}"),
              "[(integer) 1, (integer) 2, (integer) 1]");
    EXPECT_EQ(on_key("return select('#', ...)"), "(integer) 0");
    std::string many;  // as many locals as Lua allows: ours do not fit beside them
    for (int i = 0; i < 199; ++i) many += "local a" + std::to_string(i) + "=" + "1 ";
    EXPECT_EQ(on_key(many + "return KEYS[1]"), R"("key")");
}

TEST_F(scripts, names_of_the_world_cannot_be_written) {
    for (const char* attack :
         {"KEYS = 1", "redis = nil", "a, KEYS = 1, 2", "function redis.call() end",
          "redis.call = print", "function redis() end", "for i = 1, 2 do ARGV = i end", "+ 1"}) {
        EXPECT_TRUE(ask("EVAL", attack, "0").is_error()) << attack;
        EXPECT_EQ(run("return redis.call('ECHO', 'fine')"), R"("fine")") << attack;
    }
}

TEST_F(scripts, whatever_a_script_raises_becomes_an_error_reply) {
    constexpr const char* place = " script: <sha>, on @user_script:1.";
    EXPECT_EQ(run("error({x = 1})"), std::string("(error) ERR unknown error") + place);
    EXPECT_EQ(run("error({err = {}})"), std::string("(error) ERR unknown error") + place);
    EXPECT_EQ(run("error({err = 'MINE it is'})"), std::string("(error) MINE it is") + place);
    EXPECT_EQ(run("error()"), std::string("(error) ERR nil") + place);
    EXPECT_EQ(run("error(nil)"), std::string("(error) ERR nil") + place);
    EXPECT_EQ(run("error(true)"), std::string("(error) ERR true") + place);
    EXPECT_EQ(run("error(redis.call)"), std::string("(error) ERR function") + place);
    EXPECT_EQ(run("return 1"), "(integer) 1");
}

TEST_F(scripts, of_too_many_the_one_unused_for_longest_is_forgotten) {
    const auto text = [](std::size_t i) { return "return " + std::to_string(i); };
    const auto exists = [&](std::size_t i) {
        return say("SCRIPT", "EXISTS", script(text(i)).sha1());
    };
    for (std::size_t i = 0; i < memory::lua_host::most_scripts; ++i) ask("SCRIPT", "LOAD", text(i));
    ask("EVALSHA", script(text(0)).sha1(), "0");
    ask("SCRIPT", "LOAD", "return 'one more'");
    EXPECT_EQ(exists(0), "[(integer) 1]");
    EXPECT_EQ(exists(1), "[(integer) 0]");
    EXPECT_EQ(exists(2), "[(integer) 1]");
    EXPECT_EQ(say("EVALSHA", script(text(1)).sha1(), "0"),
              "(error) NOSCRIPT No matching script. Please use EVAL.");
    EXPECT_EQ(say("EVAL", text(1), "0"), "(integer) 1");
}

TEST_F(scripts, the_text_of_all_scripts_is_bounded) {
    const auto text = [](std::size_t i) {
        return "return " + std::to_string(i) +
               std::string(memory::lua_host::longest_source - 100, ' ');
    };
    constexpr std::size_t fit = memory::lua_host::most_source / memory::lua_host::longest_source;
    for (std::size_t i = 0; i <= fit; ++i) ask("SCRIPT", "LOAD", text(i));
    EXPECT_EQ(say("SCRIPT", "EXISTS", script(text(0)).sha1(), script(text(1)).sha1()),
              "[(integer) 0, (integer) 1]");
}

TEST_F(scripts, a_script_that_is_too_long_is_refused) {
    const std::string text(memory::lua_host::longest_source + 1, ' ');
    EXPECT_EQ(say("EVAL", text, "0"), "(error) ERR script has 1048577 bytes, more than 1048576");
}

TEST_F(scripts, compiling_is_bounded_by_the_memory_of_scripts) {
    const auto small = make_memory_engine({.time = &time, .script_memory = 1024 * 1024});
    std::string hog = "return {";
    while (hog.size() < 1'000'000) hog += "{},";
    EXPECT_FALSE(small->execute(words("EVAL", hog + "}", 0), no_limit));
    EXPECT_TRUE(small->execute(words("EVAL", "return 1", 0), no_limit));
}

TEST_F(scripts, a_sha_may_be_written_in_capitals) {
    ask("SCRIPT", "LOAD", "return 1");
    EXPECT_EQ(say("SCRIPT", "EXISTS", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"), "[(integer) 1]");
    EXPECT_EQ(say("EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"), "(integer) 1");
}

TEST_F(scripts, one_that_another_engine_compiled_is_the_same_script) {
    const std::string fails = "\n\nlocal function deep()\n  error('here') end\nreturn deep()";
    const std::string reads = "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], ARGV[1])";
    const std::string plain = "return {KEYS[1], ARGV[1], #KEYS, redis.sha1hex('')}";
    const auto all = [&] {
        return run(fails) + say("EVAL", reads, "1", "k", "v") + say("EVAL", plain, "1", "k", "v") +
               say("EVALSHA", script(plain).sha1(), "1", "k", "v");
    };
    const std::string first = all();
    EXPECT_NE(first.find("user_script:4: here"), std::string::npos) << first;
    engine = make_memory_engine({.time = &time, .chance = &chance});
    EXPECT_EQ(say("EVALSHA", script(plain).sha1(), "1", "k", "v"),
              "(error) NOSCRIPT No matching script. Please use EVAL.");
    EXPECT_EQ(all(), first);
    ask("SCRIPT", "FLUSH");
    EXPECT_EQ(all(), first);
}

TEST_F(scripts, a_table_that_holds_itself_ends_in_an_error_not_in_a_crash) {
    EXPECT_NE(run("local t = {} t[1] = t return t").find("reached lua stack limit"),
              std::string::npos);
}

}  // namespace
}  // namespace holdfast::memory_test
