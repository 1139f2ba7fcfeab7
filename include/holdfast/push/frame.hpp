// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/push/post.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A frame: consecutive messages of one room, as one text for all viewers.
///
///     {"type":"frame","room":"video_123","epoch":"5f0c…","first":7,"last":9,"count":2,"shed":1,
///      "messages":[{"offset":7,"id":"…","userId":123,"userName":"Ann","content":"…"},…]}
///
/// Every offset from `first` to `last` is either among the messages or counted in `shed`; so a
/// viewer that has seen `last` of one frame expects `last + 1` as `first` of the next, and sees a
/// loss at once.
namespace holdfast::push {

using shared_text = std::shared_ptr<const std::string>;

/// A place in a room. Offsets count from 1; 0 is before the first.
struct position {
    std::string epoch;
    std::uint64_t offset = 0;

    friend bool operator==(const position&, const position&) = default;
};

struct frame_message {
    std::uint64_t offset = 0;
    message_class kind = message_class::normal;
    std::string json;  ///< The object, with its offset.
};

class frame;
using shared_frame = std::shared_ptr<const frame>;

/// Immutable. Thread safety: all members may be called from any thread.
class frame {
public:
    /// Requires: first <= last; messages are within, in order.
    frame(std::string room, std::string epoch, std::uint64_t first, std::uint64_t last,
          std::vector<frame_message> messages);

    [[nodiscard]] const std::string& room() const noexcept { return room_; }
    [[nodiscard]] const std::string& epoch() const noexcept { return epoch_; }
    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
    [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
    [[nodiscard]] std::uint64_t shed() const noexcept {
        return last_ - first_ + 1 - messages_.size();
    }
    [[nodiscard]] std::span<const frame_message> messages() const noexcept { return messages_; }

    /// The JSON text above, encoded when the frame was made: all viewers share it.
    [[nodiscard]] const shared_text& text() const noexcept { return text_; }

private:
    std::string room_;
    std::string epoch_;
    std::uint64_t first_;
    std::uint64_t last_;
    std::vector<frame_message> messages_;
    shared_text text_;
};

/// The part of it behind `after`. Requires: after < f.last().
[[nodiscard]] shared_frame cut(const shared_frame& f, std::uint64_t after);

/// Frames that follow each other as one; without the messages below `least`, which count as shed.
/// Requires: not empty, one room and epoch, in order without a hole.
[[nodiscard]] shared_frame merge(std::span<const shared_frame> frames,
                                 message_class least = message_class::low);

/// JSON string with quotes.
void append_json(std::string& out, std::string_view text);

}  // namespace holdfast::push
