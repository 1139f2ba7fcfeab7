// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_link.hpp"
#include "lease/tables/listener_thread.hpp"

/// A connection that LISTENs: how a store hears from other processes.
///
/// Each store has a channel, `holdfast_<process>_<store>`. A release that hands a name to one of
/// its waiters NOTIFYs that channel in the same transaction, so that the note arrives when the name
/// is the waiter's. A store of tasks also hears what is told to everybody, on the channel
/// `holdfast_0_0`.
namespace holdfast::postgresql {

class postgresql_listener final : public sql::listening_connection {
public:
    /// Copies the options: the thread that uses it may outlive whoever made it.
    enum class hears : std::uint8_t { its_own, broadcasts_too };
    postgresql_listener(postgresql_options options, hears what);

    [[nodiscard]] result<void> connect(const sql::listener_id& whose) override;
    void attend(const sql::listener_id& whose, int closing) override;
    void close() noexcept override { link_.close(); }
    [[nodiscard]] const std::string& label() const noexcept override { return link_.label(); }

private:
    [[nodiscard]] bool probe();
    void read_notes(const sql::listener_id& whose);

    const postgresql_options options_;
    const hears what_;
    postgresql_link link_;
};

}  // namespace holdfast::postgresql
