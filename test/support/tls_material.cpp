// SPDX-License-Identifier: Apache-2.0
#include "support/tls_material.hpp"

#include "support/child_process.hpp"

#include <fstream>

namespace holdfast::test {

// Elliptic curve keys: RSA's take seconds on a busy machine.
tls_material::tls_material() {
    run_openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-days", "1", "-subj", "/CN=Holdfast test authority", "-keyout", "ca.key", "-out",
                 "ca.crt"});
    sign("server.key", "server.crt", "/CN=localhost",
         "subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n");
    sign("client.key", "client.crt", "/CN=holdfast test client", "extendedKeyUsage=clientAuth\n");
}

void tls_material::run_openssl(std::initializer_list<const char*> arguments) {
    process_options options{
        .argv = {"openssl"}, .output = at("openssl.log"), .directory = directory_.path()};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    run_to_success(std::move(options));
}

void tls_material::sign(const char* key, const char* certificate, const char* subject,
                        const char* extensions) {
    std::ofstream(at("extensions")) << extensions;
    run_openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 subject, "-keyout", key, "-out", "request"});
    run_openssl({"x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key",
                 "-CAcreateserial", "-days", "1", "-extfile", "extensions", "-out", certificate});
}

}  // namespace holdfast::test
