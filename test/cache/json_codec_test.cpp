// SPDX-License-Identifier: Apache-2.0
#include <holdfast/cache.hpp>
#include <holdfast/channel.hpp>
#include <holdfast/client.hpp>
#include <holdfast/json_codec.hpp>

#include <boost/describe.hpp>
#include <boost/json/src.hpp>  // compiled here, once
#include <gtest/gtest.h>

namespace shop {

struct article {
    std::string title;
    int views = 0;
    std::vector<std::string> tags;
    friend bool operator==(const article&, const article&) = default;
};
BOOST_DESCRIBE_STRUCT(article, (), (title, views, tags))

}  // namespace shop

template <>
struct holdfast::codec<shop::article> : holdfast::json_codec<shop::article> {};

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

const shop::article sample{"Überschrift \"1\"", 7, {"a", "b"}};

TEST(json_codec, a_struct_goes_there_and_back) {
    const auto text = codec<shop::article>::encode(sample);
    EXPECT_EQ(codec<shop::article>::decode(text).value(), sample);
    EXPECT_EQ(boost::json::parse(text).at("views").as_int64(), 7);
}

TEST(json_codec, what_is_no_json_or_another_type_is_corrupt) {
    for (const char* text : {"", "{", "[]", R"({"title":1,"views":2,"tags":[]})", "{} x"}) {
        EXPECT_EQ(codec<shop::article>::decode(text).error(), errc::corrupt) << text;
    }
    EXPECT_EQ(codec<shop::article>::decode(std::string(100, '[')).error(), errc::corrupt);
    EXPECT_EQ(codec<boost::json::value>::decode("[1]")->at(0).as_int64(), 1);
}

TEST(json_codec, caches_and_channels_carry_it) {
    auto hf = open("memory:").value();
    cache<shop::article> articles(hf, {.prefix = "article:"});
    int loads = 0;
    for (int i = 0; i < 2; ++i) {
        const auto seen = articles.get("1", [&] {
            ++loads;
            return sample;
        });
        EXPECT_EQ(seen.value(), sample);
    }
    EXPECT_EQ(loads, 1);
    channel<shop::article> news(hf, "news", {.reliable = true});
    auto reader = news.subscribe().value();
    ASSERT_TRUE(news.publish(sample));
    EXPECT_EQ(reader.next(10s).value()->value, sample);
}

}  // namespace
}  // namespace holdfast::test
