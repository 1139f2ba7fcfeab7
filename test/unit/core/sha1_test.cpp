// SPDX-License-Identifier: Apache-2.0
#include "core/sha1.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

TEST(sha1, gives_the_digests_of_the_standard) {
    EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(sha1_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(sha1_hex(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

// The length and the final bit need nine bytes: at 56 they no longer fit the last block.
TEST(sha1, pads_a_text_of_any_length) {
    EXPECT_EQ(sha1_hex(std::string(55, '\xe9')), "db1dcbd965053b8332c4895768eb68e8b4114424");
    EXPECT_EQ(sha1_hex(std::string(56, '\xe9')), "be6c9774cd13dc34869d1cb65df1ca82096a8eb3");
    EXPECT_EQ(sha1_hex(std::string(63, '\xe9')), "e2994e10b75bbf2fb9b286832e66db0b3c7ff692");
    EXPECT_EQ(sha1_hex(std::string(64, '\xe9')), "00bc92c17b682336817a74f8877e6d621f30e61f");
    EXPECT_EQ(sha1_hex(std::string(65, '\xe9')), "2ce2ad48c33ad79e3f7504661dfb1de5673bcb6a");
    EXPECT_EQ(sha1_hex(std::string(119, '\xe9')), "05a5fa82874a2fd845abc5a6e08a56980334a042");
    EXPECT_EQ(sha1_hex(std::string(120, '\xe9')), "4e546bf66d7397d452c01c5fe04116e8d5dd0f12");
}

}  // namespace
}  // namespace holdfast
