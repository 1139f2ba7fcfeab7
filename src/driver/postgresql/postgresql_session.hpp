// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_link.hpp"
#include "lease/sessions/session_connection.hpp"

/// A session that holds advisory locks.
///
/// The lock of a name is the number that the first eight bytes of SHA-256 of "holdfast:" and the
/// name make, computed by the server; so anybody who knows the name can find it in pg_locks.
namespace holdfast::postgresql {

class postgresql_session final : public session::session_connection {
public:
    explicit postgresql_session(postgresql_options options);

    [[nodiscard]] result<void> open(time_point deadline) override;
    [[nodiscard]] bool is_open() const noexcept override { return link_.is_open(); }
    void close() noexcept override { link_.close(); }
    [[nodiscard]] result<bool> lock(std::string_view name, duration wait,
                                    time_point deadline) override;
    [[nodiscard]] result<void> unlock(std::string_view name, time_point deadline) override;
    [[nodiscard]] result<void> probe(time_point deadline) override;
    [[nodiscard]] bool is_quiet() const override { return link_.is_quiet(); }
    [[nodiscard]] int socket() const noexcept override { return link_.socket(); }
    void give_up_by(int fd) noexcept override { link_.give_up_by(fd); }
    void forget() noexcept override { link_.forget(); }

private:
    const postgresql_options options_;
    postgresql_link link_;
};

/// The number of a name's lock, in SQL.
[[nodiscard]] std::string advisory_key(std::string_view name);

}  // namespace holdfast::postgresql
