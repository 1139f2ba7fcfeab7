// SPDX-License-Identifier: Apache-2.0
//
// Who may enter: certificates, users, permissions, tokens that end.
#include "etcd/etcd_ground.hpp"

#include <thread>

namespace holdfast::test {
namespace {

TEST(etcd_access, tls_needs_the_right_authority_and_a_certificate_of_our_own) {
    const tls_material material;
    etcd_cluster server({.members = 1, .tls = &material});
    const auto file = [](const char* name, const std::filesystem::path& path) {
        return std::string(name) + "=" + path.string();
    };
    const std::string ca = file("ca_file", material.ca_certificate());
    const std::string own = file("certificate_file", material.client_certificate()) + "&" +
                            file("key_file", material.client_key());
    {
        auto hf = holdfast::open(server.url() + "?" + ca + "&" + own).value();
        auto held = hf.mutex("job").try_acquire({});
        ASSERT_TRUE(held) << held.error().detail;
        EXPECT_TRUE(std::move(*held).release());
    }
    for (const std::string& less : {ca, own}) {
        auto hf = holdfast::open(server.url() + "?" + less, {.request_timeout = 500ms}).value();
        EXPECT_FALSE(hf.mutex("job").try_acquire({})) << less;
    }
}

class etcd_users : public testing::Test {
protected:
    static etcd_cluster& server() {
        static etcd_cluster shared({.members = 1, .tls = nullptr, .flags = {"--auth-token-ttl=1"}});
        static const bool made = [] {
            shared.ctl({"user", "add", "root:root-secret"});
            shared.ctl({"user", "add", "app:app-secret"});
            shared.ctl({"role", "add", "locks"});
            shared.ctl(
                {"role", "grant-permission", "--prefix=true", "locks", "readwrite", "holdfast"});
            shared.ctl({"user", "grant-role", "app", "locks"});
            shared.ctl({"auth", "enable"});
            return true;
        }();
        static_cast<void>(made);
        return shared;
    }
    static std::string url_for(const std::string& who, const std::string& rest = "") {
        return "etcd://" + who + "127.0.0.1:" + std::to_string(server().port(0)) + rest;
    }
};

TEST_F(etcd_users, a_role_for_the_prefix_is_enough_and_tokens_are_renewed) {
    auto hf = holdfast::open(url_for("app:app-secret@")).value();
    for (int round = 0; round < 2; ++round) {
        auto held = hf.mutex("job").try_acquire({.ttl = 20s});
        ASSERT_TRUE(held) << held.error().detail;
        // style: allow clock, because the server's token ends by the server's time
        std::this_thread::sleep_for(2500ms);
        EXPECT_TRUE(held->renew()) << "with a token of its own, or a new one";
        const auto seen = hf.inspect("job");
        ASSERT_TRUE(seen) << seen.error().detail;
        EXPECT_TRUE(seen->value().mine());
        EXPECT_EQ(hf.evict("job", "next round"), 1U);
    }
}

TEST_F(etcd_users, a_wrong_password_and_a_foreign_prefix_are_denied_without_repeating_secrets) {
    for (const std::string& url :
         {url_for(""), url_for("app:wrong-secret@"), url_for("app:app-secret@", "/elsewhere")}) {
        auto hf = holdfast::open(url).value();
        const auto held = hf.mutex("job").try_acquire({});
        ASSERT_FALSE(held) << url;
        EXPECT_EQ(held.error(), errc::denied) << held.error().detail;
        EXPECT_THAT(held.error().detail, testing::Not(testing::HasSubstr("secret")));
    }
}

}  // namespace
}  // namespace holdfast::test
