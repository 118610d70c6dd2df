/// Reads an entry of the journal; whatever the bytes are, it ends, and takes no more memory than they say.
struct JournalEntry {
  /// One list of an entry.
  struct List {
    let entityCode: UInt16
    let kind: JournalFormat.Kind
    /// Keys in ascending order; empty for `any`.
    var runs: [ClosedRange<UInt64>] = []
  }

  /// The process that has committed.
  let writer: UInt64
  let lists: [List]

  /// Nil for bytes that are no entry.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard reader.byte() == JournalFormat.format, let writer = reader.number(UInt64.self) else { return nil }
    var lists: [List] = []
    while !reader.isAtEnd {
      guard let code = reader.number(UInt16.self),
        let kind = reader.byte().flatMap(JournalFormat.Kind.init(rawValue:)),
        let runs = kind == .any ? [] : reader.runs()
      else { return nil }
      lists.append(List(entityCode: code, kind: kind, runs: runs))
    }
    self.writer = writer
    self.lists = lists
  }
}
