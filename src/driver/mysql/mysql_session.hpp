// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_link.hpp"
#include "lease/sessions/session_connection.hpp"

/// A session that holds locks by GET_LOCK.
///
/// These locks belong to the whole server, have at most 64 characters, and do not tell upper from
/// lower case. So the lock of a name is "holdfast:" and SHA1 of the database and the name, computed
/// by the server; anybody who knows both can find it by IS_USED_LOCK.
namespace holdfast::mysql {

class mysql_session final : public session::session_connection {
public:
    explicit mysql_session(mysql_options options);

    /// Errors: unsupported, on a node of a Galera cluster, which does not share these locks.
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
    /// The first column of the last row; nothing if it is NULL.
    [[nodiscard]] result<std::optional<std::string>> ask(const std::string& text,
                                                         time_point deadline);

    const mysql_options options_;
    mysql_link link_;
};

/// The text of a name's lock, in SQL.
[[nodiscard]] std::string user_lock_key(std::string_view name);

}  // namespace holdfast::mysql
