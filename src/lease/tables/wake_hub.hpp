// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <memory>
#include <span>

/// Wakes the waiters of this process: whoever hands a name to one of them tells its store at once.
///
/// There is one hub in a process, for all databases, because a listener's id is enough to find it.
/// A child of fork() is another process, with another id and no listeners.
namespace holdfast::sql {

/// A store that hears, from its making to its end. After the destructor nothing is called any more;
/// it waits for a call that is under way.
/// Thread safety: all members may be called from any thread; not destroyed from its own handler.
class listener {
public:
    listener();
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener();

    [[nodiscard]] const listener_id& id() const noexcept { return id_; }
    void on_push(lease_store::push_handler handler);

private:
    listener_id id_;
};

/// Where is that store?
[[nodiscard]] hearing where_is(const listener_id& id);

/// Tells each of these that is in this process. Requires: no lock is held that a handler may want.
void tell(std::span<const note> notes);

/// Tells that store that notes to it may have been lost.
void tell_to_poll_again(const listener_id& id);

}  // namespace holdfast::sql
