import Foundation

/// The lines of a file or of standard input, one at a time. Takes memory for the longest line.
final class LineReader {
  /// The longest line that is taken.
  static let longest = 1 << 31

  private let descriptor: Int32
  private let name: String
  private let closes: Bool
  private var buffer: UnsafeMutableRawBufferPointer
  private var (start, end) = (0, 0)
  private var isAtEnd = false
  /// Whether the return before the end of a line is no part of it.
  var dropsReturns = true
  /// How many lines were handed out.
  private(set) var number = 0
  /// How many bytes were read, and how many there are; 0 when that is unknown.
  private(set) var completed = 0
  let total: Int

  /// `-` is standard input.
  init(_ path: String) throws {
    name = path == "-" ? "standard input" : path
    closes = path != "-"
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      let kind: Failure.Kind = errno == ENOENT ? .missing : errno == EACCES ? .permission : .other
      throw Failure(kind, "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    var status = stat()
    total = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    buffer = .allocate(byteCount: 1 << 18, alignment: 16)
  }

  deinit {
    if closes { close(descriptor) }
    buffer.deallocate()
  }

  /// The next line without its end, valid until the next call; nil behind the last. A mark of the byte order is no part of the first.
  func next() throws -> UnsafeRawBufferPointer? {
    var looked = start
    while true {
      // Allocated: it has a base.
      if looked < end, let found = memchr(buffer.baseAddress! + looked, 0x0A, end - looked) {
        let place = found - UnsafeMutableRawPointer(buffer.baseAddress!)
        defer { start = place + 1 }
        return line(to: place)
      }
      looked = end
      if isAtEnd {
        if start == end { return nil }
        defer { start = end }
        return line(to: end)
      }
      let before = start
      try fill()
      looked -= before - start
    }
  }

  private func line(to place: Int) -> UnsafeRawBufferPointer {
    number += 1
    let last = dropsReturns && place > start && buffer[place - 1] == 0x0D ? place - 1 : place
    let line = UnsafeRawBufferPointer(rebasing: buffer[start..<last])
    // Some editors and spreadsheets begin a file with a mark of the byte order.
    guard number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) else { return line }
    return UnsafeRawBufferPointer(rebasing: line[3...])
  }

  private func fill() throws {
    if start > 0 {
      memmove(buffer.baseAddress!, buffer.baseAddress! + start, end - start)
      end -= start
      start = 0
    }
    if end == buffer.count {
      guard buffer.count < Self.longest else {
        throw Failure(.input, "Line \(number + 1) of \(name) is longer than \(Words.bytes(Self.longest)).")
      }
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(buffer))
      buffer.deallocate()
      buffer = larger
    }
    while true {
      let count = read(descriptor, buffer.baseAddress! + end, buffer.count - end)
      if count > 0 {
        end += count
        completed += count
      } else if count == 0 {
        isAtEnd = true
      } else if errno == EINTR {
        continue
      } else {
        throw Failure(.other, "\(name) cannot be read: \(String(cString: strerror(errno))).")
      }
      return
    }
  }
}
