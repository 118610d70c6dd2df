import Foundation

/// Reads bytes as parts and keys of a history. What can be read as values must be written back as bytes that are read as the same.
enum HistoryProbe {
  static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // In memory of exactly its length, where sanitizers see every step beyond.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    let bytes = UnsafeRawBufferPointer(copy)
    var isValid = false
    if let key = HistoryFormat.Key(bytes) {
      isValid = true
      precondition(key.withBytes { $0.elementsEqual(bytes) }, "keys are bijective")
    }
    for isFirst in [true, false] {
      guard let part = HistoryPart(bytes, isFirst: isFirst) else { continue }
      isValid = true
      precondition((part.header == nil) != isFirst, "the first part has a header")
      for list in part.lists {
        precondition(list.runs.allSatisfy { $0.upperBound < PrimaryKeyAllocator.limit }, "keys are bounded")
        precondition(list.runs.count + list.tombstones.count <= bytes.count, "memory is bounded")
        for value in list.tombstones.flatMap(\.values) { check(value.value) }
      }
      if let header = part.header { check(header) }
    }
    return isValid
  }

  private static func check(_ header: HistoryHeader) {
    var writer = HistoryByteWriter()
    writer.append(header)
    writer.bytes.withUnsafeBytes {
      precondition(HistoryPart($0, isFirst: true)?.header == header, "what is written is read again")
    }
  }

  private static func check(_ value: AttributeValue) {
    var writer = HistoryByteWriter(bytes: [])
    writer.append(value)
    writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      precondition(reader.value() == value && reader.isAtEnd, "what is written is read again")
    }
  }

  static func samples() -> [[UInt8]] {
    var first = HistoryByteWriter()
    first.append(
      HistoryHeader(
        timestamp: Date(timeIntervalSinceReferenceDate: 12_345.5),
        origin: ChangeOrigin(author: "importer", contextName: nil), bundleIdentifier: "org.example.flights",
        processName: "flights"))
    var part = first
    // Inserted 5 to 9; updated 1 and 3 with two attributes; deleted 2.
    part.bytes += [1, 1, 0, 1, 11, 3]
    part.bytes += [2, 2, 0, 2, 1, 0, 7, 0, 2, 2, 2]
    part.bytes += [3, 1, 0, 1, 4]
    var buried = HistoryByteWriter()
    buried.bytes += [4, 1, 0, 1, 9]
    let values = DecoderProbe.kinds.map(DecoderProbe.sample).filter { value in
      if case .reference = value { return false }
      return !value.isNull
    }
    buried.append(varint: values.count)
    for (code, value) in values.enumerated() {
      buried.append(UInt16(code + 1))
      buried.append(value)
    }
    return [
      Array(first.bytes), Array(part.bytes), Array(buried.bytes),
      HistoryFormat.Key(77, part: 3).withBytes { Array($0) },
    ]
  }
}
