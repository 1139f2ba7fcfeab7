// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// One caller's commands on their way to a server and back.
///
/// A request of a thread that waits lies on that thread's stack: nothing is copied, nothing is
/// allocated, and the commands are encoded by whoever writes the next batch. A request of a
/// submitted command lies on the heap and carries its bytes with it.
namespace holdfast::redis {

struct channel;

struct pending_request {
    enum class place : std::uint8_t {
        outside,   ///< Not in the link: not yet, or settled.
        queued,    ///< May be withdrawn: no byte has been written.
        encoding,  ///< In the hands of the thread that writes.
        flying     ///< Written, at least in part; settled by the thread that reads.
    };

    std::span<const command> commands;      ///< To be encoded, or …
    std::string_view raw;                   ///< … bytes that already are, …
    std::string_view raw_name;              ///< … and the command's name for errors, …
    std::span<const std::size_t> raw_ends;  ///< … and of several where each of them ends.
    std::span<result<reply>> replies;  ///< Empty: the replies are dropped (nobody waits any more).
    time_point give_up;
    time_point began{};    ///< When the caller came, for errors.
    bool patient = false;  ///< Waits for a connection although connecting has failed.

    std::size_t expected = 0;  ///< Replies to come, in all.
    std::size_t answered = 0;
    std::size_t bytes = 0;        ///< Encoded size.
    std::uint64_t begins_at = 0;  ///< Position of the first byte in the connection's stream.
    time_point deadline{};        ///< Once flying: give_up or reply_timeout, whichever is first.
    channel* on = nullptr;        ///< Once flying.
    place where = place::outside;
    bool submitted = false;  ///< An async_ticket.
    bool lost = false;       ///< Ended because the connection broke.

    pending_request* prev = nullptr;
    pending_request* next = nullptr;

    std::atomic<bool> settled{false};  ///< The last thing that is written to it.
    std::size_t cohort = 0;            ///< Which of the link's futexes its thread waits on.

    [[nodiscard]] std::string_view name(std::size_t i) const {
        return raw.empty() ? commands[i].args[0] : raw_name;
    }
    /// Of the bytes that are encoded already.
    [[nodiscard]] std::size_t raw_end(std::size_t i) const {
        return i < raw_ends.size() ? raw_ends[i] : raw.size();
    }
};

struct async_ticket : pending_request {
    std::string storage;  ///< What raw points to.
    std::string name_storage;
    std::optional<script> body;  ///< To load upon NOSCRIPT.
    repeat again = repeat::never;
    bool was_sent = false;  ///< An earlier try may have been carried out.
    bool loading = false;   ///< storage begins with SCRIPT LOAD.
    int tries = 0;
    std::size_t together = 0;  ///< So many commands of one caller, or 0 for a single one.
    std::size_t ends[command_engine::most_together];
    result<reply> slots[command_engine::most_together];
    command_engine::completion done;
    command_engine::joint_completion done_together;

    [[nodiscard]] std::size_t replies_to_come() const noexcept {
        if (together > 0) return together;
        return loading ? 2 : 1;
    }

    /// As new, but for the room that the strings have.
    void clear() {
        storage.clear();
        name_storage.clear();
        body.reset();
        again = repeat::never;
        was_sent = loading = patient = lost = false;
        tries = 0;
        together = 0;
        raw_ends = {};
        answered = 0;
        on = nullptr;
        where = place::outside;
        for (result<reply>& r : slots) r = reply();
        done = nullptr;
        done_together = nullptr;
    }
};

/// A list that goes through the requests themselves.
class ticket_list {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] pending_request* front() const noexcept { return head_; }

    void push_back(pending_request& t) noexcept {
        t.prev = tail_;
        t.next = nullptr;
        (tail_ != nullptr ? tail_->next : head_) = &t;
        tail_ = &t;
    }
    void remove(pending_request& t) noexcept {
        (t.prev != nullptr ? t.prev->next : head_) = t.next;
        (t.next != nullptr ? t.next->prev : tail_) = t.prev;
        t.prev = t.next = nullptr;
    }
    pending_request* pop_front() noexcept {
        pending_request* t = head_;
        if (t != nullptr) remove(*t);
        return t;
    }
    /// Puts `with` where `t` stands.
    void replace(pending_request& t, pending_request& with) noexcept {
        with.prev = t.prev;
        with.next = t.next;
        (t.prev != nullptr ? t.prev->next : head_) = &with;
        (t.next != nullptr ? t.next->prev : tail_) = &with;
        t.prev = t.next = nullptr;
    }
    /// Appends all of `other`.
    void splice(ticket_list& other) noexcept {
        if (other.empty()) return;
        if (tail_ != nullptr) {
            tail_->next = other.head_;
            other.head_->prev = tail_;
        } else {
            head_ = other.head_;
        }
        tail_ = other.tail_;
        other.head_ = other.tail_ = nullptr;
    }

private:
    pending_request* head_ = nullptr;
    pending_request* tail_ = nullptr;
};

}  // namespace holdfast::redis
