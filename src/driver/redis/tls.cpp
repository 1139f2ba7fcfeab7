// SPDX-License-Identifier: Apache-2.0
//
// The TLS half of a transport.
//
// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when the peer is gone: a
// library may not do that to its host. So the socket is behind a BIO of our own that sends with
// MSG_NOSIGNAL. Of a write that failed inside OpenSSL we cannot know how many bytes left, so all
// that were attempted count as sent.
#include "driver/redis/transport.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace holdfast::redis {
namespace {

int socket_of(BIO* bio) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(::BIO_get_data(bio)));
}

bool would_block() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int bio_write(BIO* bio, const char* data, int size) {
    ::BIO_clear_retry_flags(bio);
    const ssize_t put = ::send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (put < 0 && would_block()) ::BIO_set_retry_write(bio);
    return static_cast<int>(put);
}

int bio_read(BIO* bio, char* data, int size) {
    ::BIO_clear_retry_flags(bio);
    const ssize_t got = ::recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
    if (got < 0 && would_block()) ::BIO_set_retry_read(bio);
    return static_cast<int>(got);
}

long bio_control(BIO* /*bio*/, int what, long /*number*/, void* /*pointer*/) {
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* quiet_socket() {
    static BIO_METHOD* method = [] {
        BIO_METHOD* m = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        ::BIO_meth_set_write(m, bio_write);
        ::BIO_meth_set_read(m, bio_read);
        ::BIO_meth_set_ctrl(m, bio_control);
        return m;
    }();
    return method;
}

std::string last_problem() {
    const unsigned long code = ::ERR_get_error();
    ::ERR_clear_error();
    if (code == 0) return "the peer ended the TLS session";
    std::array<char, 256> text{};
    ::ERR_error_string_n(code, text.data(), text.size());
    return text.data();
}

std::unexpected<error> bad_file(std::string_view option) {
    ::ERR_clear_error();
    return fail(errc::invalid_argument,
                std::string(option) + " cannot be used: not a readable PEM file of its kind");
}

bool is_ip_address(const std::string& name) {
    ASN1_OCTET_STRING* address = ::a2i_IPADDRESS(name.c_str());
    ::ASN1_OCTET_STRING_free(address);
    ::ERR_clear_error();
    return address != nullptr;
}

}  // namespace

result<std::shared_ptr<tls_context>> tls_context::make(const redis_tls& rules) {
    SSL_CTX* context = ::SSL_CTX_new(::TLS_client_method());
    if (context == nullptr) return fail(errc::unsupported, "OpenSSL cannot make a TLS client");
    std::shared_ptr<tls_context> made(new tls_context(context));
    ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    ::SSL_CTX_set_mode(context,
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (rules.verify == tls_verify::full) {
        ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
        const bool loaded =
            rules.ca_file.empty()
                ? ::SSL_CTX_set_default_verify_paths(context) == 1
                : ::SSL_CTX_load_verify_locations(context, rules.ca_file.c_str(), nullptr) == 1;
        if (!loaded) return bad_file("ca_file");
    }
    if (!rules.cert_file.empty()) {
        if (::SSL_CTX_use_certificate_chain_file(context, rules.cert_file.c_str()) != 1) {
            return bad_file("cert_file");
        }
        if (::SSL_CTX_use_PrivateKey_file(context, rules.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
            return bad_file("key_file");
        }
    }
    return made;
}

tls_context::~tls_context() {
    ::SSL_CTX_free(context_);
}

io_step transport::tls_step(int outcome, std::size_t attempted) {
    switch (::SSL_get_error(tls_, outcome)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return {};
        case SSL_ERROR_ZERO_RETURN: return {io_step::kind::ended, attempted, {}};
        case SSL_ERROR_SYSCALL: ::ERR_clear_error(); return {io_step::kind::ended, attempted, {}};
        default: return {io_step::kind::failed, attempted, last_problem()};
    }
}

result<void> transport::shake_hands(const server_address& address, const redis_tls& rules,
                                    time_point deadline, clock& time, const patience& go_on) {
    tls_ = ::SSL_new(context_->get());
    BIO* bio = ::BIO_new(quiet_socket());
    if (tls_ == nullptr || bio == nullptr) return fail(errc::unavailable, "handshake: no memory");
    ::BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd_)));
    ::BIO_set_init(bio, 1);
    ::SSL_set_bio(tls_, bio, bio);
    const std::string& name = rules.server_name.empty() ? address.host : rules.server_name;
    if (is_ip_address(name)) {
        ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(tls_), name.c_str());
    } else {
        ::SSL_ctrl(tls_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                   const_cast<char*>(name.c_str()));
        ::SSL_set1_host(tls_, name.c_str());
    }
    ::ERR_clear_error();
    while (true) {
        const int outcome = ::SSL_connect(tls_);
        if (outcome == 1) return {};
        const int why = ::SSL_get_error(tls_, outcome);
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            const long trust = ::SSL_get_verify_result(tls_);
            if (trust != X509_V_OK) {
                ::ERR_clear_error();
                return fail(errc::denied, std::string("handshake: the server's certificate is not "
                                                      "trusted: ") +
                                              ::X509_verify_cert_error_string(trust));
            }
            return fail(errc::unavailable, "handshake: " + last_problem());
        }
        const time_point now = time.now();
        if (now >= deadline) return fail(errc::unavailable, "handshake: no answer in time");
        const short wanted = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
        pollfd one{.fd = fd_, .events = wanted, .revents = 0};
        const timespec slice = timeout_until(deadline, now, patience_slice);
        if (::ppoll(&one, 1, &slice, nullptr) == 0 && !go_on()) {
            return fail(errc::unavailable, "handshake: given up");
        }
    }
}

}  // namespace holdfast::redis
