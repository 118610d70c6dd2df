import Foundation

@testable import StrataCore

/// A store as sorted text: one line per entry of every keyspace.
enum StoreDump {
  static func text(_ reader: RowReader, _ transaction: borrowing ReadTransaction) throws -> String {
    var lines: [String] = []
    let parts = reader.parts
    for hierarchy in parts.schema.hierarchies {
      guard let keyspace = parts.rows[hierarchy.number] else { continue }
      try forEach(keyspace, transaction) { key, value in
        lines.append("rows:\(hierarchy.rootName) \(row(key, value, reader))")
      }
    }
    let indexes = reader.catalogue.indexes
    for index in indexes.all {
      guard let keyspace = indexes.keyspaces[index.number] else { continue }
      try forEach(keyspace, transaction) { key, _ in
        lines.append(
          "index:\(index.name) \(UnsafeRawBufferPointer(rebasing: key.dropLast(8)).hexadecimal) p\(PrimaryKeyBytes.last(of: key))"
        )
      }
    }
    if let edges = parts.edges {
      try forEach(edges, transaction) { key, value in
        lines += Self.edges(key, value, reader).map { "edges " + $0 }
      }
    }
    if let large = parts.large {
      try forEach(large, transaction) {
        lines.append("large \($0.hexadecimal) \($1.count) bytes")
      }
    }
    if let journal = parts.journal {
      try forEach(journal.keyspace, transaction) { lines += Self.journal($0, $1, reader) }
    }
    if let history = reader.catalogue.history {
      try forEach(history, transaction) { lines += Self.history($0, $1, reader) }
    }
    try forEach(parts.meta.keyspace, transaction) { key, value in
      let name = String(decoding: key, as: UTF8.self)
      let isText =
        name == "metadata" || name == "versions" || name == StoreLineage.key || name.hasPrefix("index/")
        || name.hasPrefix("added/")
        || name.hasPrefix("layout/")
      let text =
        isText
        ? String(decoding: value, as: UTF8.self)
        : value.count > 64 ? "\(value.count) bytes" : value.hexadecimal
      lines.append("meta \(name) = \(text.replacingOccurrences(of: "\n", with: " "))")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// One line for each edge and each number of members.
  private static func edges(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ reader: RowReader
  ) -> [String] {
    let names = reader.catalogue.relationships
    guard [8, 16, 24].contains(key.count),
      let number = names.relationship(code: EdgeKey.code(EdgeKey.word(key, 0)))
    else { return ["\(key.hexadecimal) \(value.hexadecimal)"] }
    let code = EdgeKey.code(EdgeKey.word(key, 0))
    let owner = "p\(EdgeKey.owner(EdgeKey.word(key, 0)))"
    let name =
      reader.parts.schema.relationships[number].qualifiedName
      + (code & EdgeKey.hiddenInverse != 0 ? " backwards" : "")
    func member(_ reference: UInt64) -> String {
      let entity = reader.catalogue.entity(code: Reference.entityCode(reference))
      return
        "p\(Reference.primaryKey(reference)) \(entity.map { reader.parts.schema.entities[$0].name } ?? "?")"
    }
    if code & EdgeKey.order == 0, !names.isOrdered(code: code), key.count < 24 {
      var count = 0
      var packed =
        key.count == 8 ? PackedMembers(head: value, count: &count) : PackedMembers(chunk: value)
      var lines = key.count == 8 ? ["\(name) \(owner) has \(count)"] : []
      while let found = packed?.next() { lines.append("\(name) \(owner) → \(member(found))") }
      return packed?.isDamaged == false ? lines : lines + ["\(name) \(key.hexadecimal) \(value.hexadecimal)"]
    }
    let word = EdgeKey.number(value).map(String.init) ?? value.hexadecimal
    return switch (key.count, code & EdgeKey.order != 0) {
    case (8, false): ["\(name) \(owner) has \(word)"]
    case (16, false): ["\(name) \(owner) → \(member(EdgeKey.word(key, 1))) at \(word)"]
    case (24, true): ["\(name) \(owner) at \(EdgeKey.word(key, 1)) → \(member(EdgeKey.word(key, 2)))"]
    default: ["\(name) \(key.hexadecimal) \(value.hexadecimal)"]
    }
  }

  /// One line for each list of an entry. The writer is left out: it is a random number.
  private static func journal(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ reader: RowReader
  ) -> [String] {
    guard let number = PrimaryKeyBytes.whole(key), let entry = JournalEntry(value) else {
      return ["journal \(key.hexadecimal) \(value.hexadecimal)"]
    }
    if entry.lists.isEmpty { return ["journal \(number) nothing"] }
    return entry.lists.map { list in
      let entity = reader.catalogue.entity(code: list.entityCode)
      let name = entity.map { reader.parts.schema.entities[$0].name } ?? "?"
      let keys = list.runs.map {
        $0.count == 1 ? " p\($0.lowerBound)" : " p\($0.lowerBound)–\($0.upperBound)"
      }
      return "journal \(number) \(list.kind) \(name)\(keys.joined())"
    }
  }

  private static func row(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ reader: RowReader
  ) -> String {
    guard let key = PrimaryKeyBytes.whole(key), let row = try? reader.row(value, primaryKey: key) else {
      return "\(key.hexadecimal) unreadable \(value.hexadecimal)"
    }
    let entity = reader.parts.schema.entities[row.entity]
    let values = entity.attributes.filter { !$0.isTransient }.map { attribute in
      if let reference = row.externalReference(attribute.slot, entity.layout) {
        return "\(attribute.name)=large(v\(reference.version), \(reference.byteCount) bytes)"
      }
      return "\(attribute.name)=\(RowBytes.value(row.base, attribute.slot, entity.layout) ?? .null)"
    }
    return "p\(key) \(entity.name) v\(row.version) \(values.joined(separator: " "))"
  }

  private static func forEach(
    _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        try body(found.key, found.value)
        entry = try cursor.next()
      }
    }
  }
}

extension LMDBStore {
  /// Everything the store holds as sorted text.
  func textDump() throws -> String {
    try read { reader, transaction in try StoreDump.text(reader, transaction) }
  }
}

extension StoreDump {
  /// One line for each list of a part. Time and program are left out: they differ from run to run.
  static func history(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ reader: RowReader
  ) -> [String] {
    guard let place = HistoryFormat.Key(key), let part = HistoryPart(value, isFirst: place.part == 0) else {
      return ["history \(key.hexadecimal) \(value.hexadecimal)"]
    }
    let name = "history \(place.number).\(place.part)"
    var lines: [String] = []
    if let origin = part.header?.origin {
      lines.append("\(name) by \(origin.author ?? "nobody") in \(origin.contextName ?? "nothing")")
    }
    let names = Dictionary(
      reader.catalogue.attributeCodesByName.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for list in part.lists {
      let entity = reader.catalogue.entity(code: list.entityCode)
      var words = [name, "\(list.kind)", entity.map { reader.parts.schema.entities[$0].name } ?? "?"]
      words += list.runs.map {
        $0.count == 1 ? "p\($0.lowerBound)" : "p\($0.lowerBound)–\($0.upperBound)"
      }
      words += list.properties.map { names[$0] ?? "?" }
      for tombstone in list.tombstones {
        words.append("p\(tombstone.primaryKey)")
        words += tombstone.values.map { "\(names[$0.code] ?? "?")=\($0.value)" }
      }
      lines.append(words.joined(separator: " "))
    }
    return lines
  }
}
