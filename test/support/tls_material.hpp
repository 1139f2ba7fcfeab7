// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/temporary_directory.hpp"

#include <filesystem>

/// A certificate authority for one test: a server's and a client's certificate, made anew.
namespace holdfast::test {

/// The server certificate is for 127.0.0.1 and localhost. All are valid for one day.
/// Throws std::runtime_error with openssl's own words when it fails.
class tls_material {
public:
    tls_material();

    [[nodiscard]] std::filesystem::path ca_certificate() const { return at("ca.crt"); }
    [[nodiscard]] std::filesystem::path server_certificate() const { return at("server.crt"); }
    [[nodiscard]] std::filesystem::path server_key() const { return at("server.key"); }
    [[nodiscard]] std::filesystem::path client_certificate() const { return at("client.crt"); }
    [[nodiscard]] std::filesystem::path client_key() const { return at("client.key"); }

private:
    [[nodiscard]] std::filesystem::path at(const char* file) const {
        return directory_.path() / file;
    }
    void run_openssl(std::initializer_list<const char*> arguments);
    void sign(const char* key, const char* certificate, const char* subject, const char* names);

    temporary_directory directory_;
};

}  // namespace holdfast::test
