import Foundation

/// Writes a CSV file beside its final place and moves it there when it is complete, so half a file is never visible.
struct CSVWriter {
  private let url: URL
  private let temporary: URL
  private let handle: FileHandle
  private var buffer: [UInt8] = []

  init(_ url: URL, header: [String]) throws {
    self.url = url
    temporary = url.appendingPathExtension("unfinished")
    let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw FlightLogError(
        "The file \(temporary.path) cannot be written: \(String(cString: strerror(errno))).")
    }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try write(header)
  }

  /// Writes one record; nil is `NA`.
  mutating func write(_ fields: [String?]) throws {
    for (index, field) in fields.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      append(field ?? "NA")
    }
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= 64 * 1024 { try flush() }
  }

  /// Completes the file and puts it in its place.
  mutating func finish() throws {
    try flush()
    try failing { try handle.synchronize() }
    try failing { try handle.close() }
    guard rename(temporary.path, url.path) == 0 else {
      throw FlightLogError("The file \(url.path) cannot be written: \(String(cString: strerror(errno))).")
    }
  }

  /// Gives up: takes the unfinished file away.
  func abandon() {
    unlink(temporary.path)
  }

  private mutating func append(_ field: String) {
    guard field.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) else {
      buffer.append(contentsOf: field.utf8)
      return
    }
    // By bytes: a quote with an accent on it is one character with it, and a quote all the same.
    buffer.append(0x22)
    for byte in field.utf8 {
      if byte == 0x22 { buffer.append(byte) }
      buffer.append(byte)
    }
    buffer.append(0x22)
  }

  private mutating func flush() throws {
    try failing { try handle.write(contentsOf: buffer) }
    buffer.removeAll(keepingCapacity: true)
  }

  private func failing(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      throw FlightLogError("The file \(temporary.path) cannot be written: \(error.localizedDescription)")
    }
  }
}
