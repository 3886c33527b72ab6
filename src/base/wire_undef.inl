// SPDX-License-Identifier: Apache-2.0
// Removes the row macros of a table of messages (wire_structs.inl).
#undef MESSAGE
#undef FIELD
#undef OPTIONAL
#undef REPEATED
#undef NESTED
#undef REPEATED_NESTED
#undef MEMBER
#undef END
#undef END_SIZED
