import StrataCore

extension UnkeyedObjects {
  /// Has those sets written that hold none of these objects; the others fail.
  /// - Throws: what `write` throws.
  func refusing<R>(
    _ sets: [ChangeSet], _ schema: Schema, _ write: ([ChangeSet]) throws -> [Result<R, any Error>]
  ) throws -> [Result<R, any Error>] {
    guard !isEmpty, let refusals = refusals(of: sets, schema) else { return try write(sets) }
    let sound = zip(sets, refusals).compactMap { $1 == nil ? $0 : nil }
    let written = try sound.isEmpty ? [] : write(sound)
    guard written.count == sound.count else { throw SQLResult.damaged }
    return Self.merged(written, refusals)
  }
}
