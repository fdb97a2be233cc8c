#pragma once
// Result<T>: a value or a Failure. The only two macros of the project live here.

#include "protocol/base/failure.hpp"

#include <utility>

#include <tl/expected.hpp>

namespace protocol {

template <typename T>
using Result = tl::expected<T, Failure>;

inline tl::unexpected<Failure> fail(Failure failure) {
    return tl::unexpected<Failure>(std::move(failure));
}
inline tl::unexpected<Failure> fail(Kind kind, std::string message) {
    return tl::unexpected<Failure>(Failure(kind, std::move(message)));
}

}  // namespace protocol

#define CAPSULE_CONCAT_INNER(a, b) a##b
#define CAPSULE_CONCAT(a, b) CAPSULE_CONCAT_INNER(a, b)
#define CAPSULE_TRY_IMPL(name, declaration, expression, ret)  \
    auto name = (expression);                                 \
    if (!name) ret ::protocol::fail(std::move(name).error()); \
    declaration = std::move(*name)

// TRY(auto x, f());      in a plain function: binds the value or returns the failure.
// CO_TRY(auto x, f());   the same in a coroutine (f() must not contain co_await: name it first).
// TRY_VOID / CO_TRY_VOID for Result<void>.
#define TRY(declaration, expression) \
    CAPSULE_TRY_IMPL(CAPSULE_CONCAT(try_result_, __LINE__), declaration, expression, return )
#define CO_TRY(declaration, expression) \
    CAPSULE_TRY_IMPL(CAPSULE_CONCAT(try_result_, __LINE__), declaration, expression, co_return )
#define CAPSULE_TRY_VOID_IMPL(name, expression, ret) \
    if (auto name = (expression); !name) ret ::protocol::fail(std::move(name).error())
#define TRY_VOID(expression) \
    CAPSULE_TRY_VOID_IMPL(CAPSULE_CONCAT(try_result_, __LINE__), expression, return )
#define CO_TRY_VOID(expression) \
    CAPSULE_TRY_VOID_IMPL(CAPSULE_CONCAT(try_result_, __LINE__), expression, co_return )
