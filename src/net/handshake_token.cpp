// SPDX-License-Identifier: Apache-2.0
#include "net/handshake_token.hpp"

#include "net/base64.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>

namespace holdfast::net {
namespace {

using digest_bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string text_of(const digest_bytes& digest, unsigned length) {
    std::string out(length, '\0');
    for (unsigned i = 0; i < length; ++i) out[i] = static_cast<char>(digest[i]);
    return out;
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hmac_sha256(std::string_view text, std::string_view secret) {
    digest_bytes digest{};
    unsigned length = 0;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(text), text.size(),
         digest.data(), &length);
    return text_of(digest, length);
}

std::string sha256(std::string_view text) {
    digest_bytes digest{};
    unsigned length = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr);
    return text_of(digest, length);
}

// What stands before the next blank; the text keeps what stands behind it.
std::string_view take_word(std::string_view& text) {
    const auto blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
    return word;
}

std::string url_base64(std::string_view bytes) {
    return to_base64(bytes, base64_alphabet::url);
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) noexcept {
    // Of equal length, so that the length of a secret is not told either.
    const std::string first = sha256(a);
    const std::string second = sha256(b);
    return CRYPTO_memcmp(first.data(), second.data(), first.size()) == 0;
}

std::string sha1_bytes(std::string_view text) {
    digest_bytes digest{};
    unsigned length = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
    return text_of(digest, length);
}

std::string sign_handshake(const handshake_claim& claim, std::string_view secret) {
    // User and room are encoded, so that no blank of theirs is taken for ours.
    const std::string said = url_base64(
        fmt::format("v1 {} {} {}", claim.expires, url_base64(claim.user), url_base64(claim.room)));
    return said + "." + url_base64(hmac_sha256(said, secret));
}

std::optional<handshake_claim> verify_handshake(std::string_view token, std::string_view secret,
                                                wall_time now) {
    const auto dot = token.find('.');
    if (dot == std::string_view::npos || secret.empty()) return std::nullopt;
    const std::string_view said = token.substr(0, dot);
    if (!same_secret(token.substr(dot + 1), url_base64(hmac_sha256(said, secret)))) {
        return std::nullopt;
    }
    const auto plain = from_base64(said, base64_alphabet::url);
    if (!plain) return std::nullopt;
    std::string_view rest = *plain;
    if (take_word(rest) != "v1") return std::nullopt;
    handshake_claim out;
    const std::string_view expires = take_word(rest);
    const auto read = std::from_chars(expires.data(), expires.data() + expires.size(), out.expires);
    const auto user = from_base64(take_word(rest), base64_alphabet::url);
    const auto room = from_base64(take_word(rest), base64_alphabet::url);
    if (read.ec != std::errc{} || !user || !room) return std::nullopt;
    out.user = *user;
    out.room = *room;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    if (seconds >= out.expires) return std::nullopt;
    return out;
}

}  // namespace holdfast::net
