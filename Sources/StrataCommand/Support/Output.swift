import Foundation
import Synchronization

/// Where a command writes what it has to say. Collects it and hands it on in large pieces; what cannot be written is an error.
final class Output: @unchecked Sendable {
  // @unchecked Sendable: a command writes from one thread.

  /// Standard output, unless somebody listens, as tests do.
  @TaskLocal static var current = Output(descriptor: STDOUT_FILENO, name: "standard output")
  /// Standard error in the same way; nothing is collected.
  @TaskLocal static var errors = Output(descriptor: STDERR_FILENO, name: "standard error", holding: 0)

  private let descriptor: Int32
  private let name: String
  private let capacity: Int
  private var buffer: [UInt8] = []
  /// Everything so far, where nothing is handed on.
  private(set) var captured: [UInt8] = []

  /// Writes to a descriptor, which stays the caller's.
  init(descriptor: Int32, name: String, holding capacity: Int = 1 << 16) {
    self.descriptor = descriptor
    self.name = name
    self.capacity = capacity
  }

  /// Keeps everything.
  static func capturing() -> Output { Output(descriptor: -1, name: "memory", holding: 0) }

  var text: String { String(decoding: captured + buffer, as: UTF8.self) }

  /// Whether a person looks at it.
  var isTerminal: Bool { descriptor >= 0 && isatty(descriptor) == 1 }
  /// How many characters there are in a line of the terminal.
  var width: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 100 }
    return Int(size.ws_col)
  }

  func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= capacity { try flush() }
  }

  func line(_ text: String = "") throws {
    buffer.append(contentsOf: text.utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= capacity { try flush() }
  }

  func write(_ bytes: [UInt8]) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= capacity { try flush() }
  }

  /// Hands on what was collected.
  /// - Throws: `OutputError` when that cannot be written.
  func flush() throws {
    defer { buffer.removeAll(keepingCapacity: true) }
    if descriptor < 0 {
      captured += buffer
      return
    }
    try buffer.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        // Not empty, so there is an address.
        let count = Foundation.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
        if count >= 0 {
          done += count
        } else if errno != EINTR {
          throw OutputError(code: errno, name: name)
        }
      }
    }
  }
}

/// What was to be written and could not.
struct OutputError: Error, CustomStringConvertible {
  let code: Int32
  let name: String
  /// The name is a word, and no path.
  private var isStream: Bool { ["standard output", "standard error"].contains(name) }

  var description: String {
    code == EPIPE
      ? "Nobody reads \(name) any more: the rest was not written."
      : "\(isStream ? name.prefix(1).uppercased() + name.dropFirst() : name) cannot be written: \(String(cString: strerror(code)))."
  }
}

/// A file that appears under its name when it is complete, or not at all. What is no plain file (a device, a pipe) is written as it is.
final class OutputFile {
  let output: Output
  private let path: String
  /// Nil for what is no plain file.
  private let draft: String?
  private let replaces: Bool
  private var descriptor: Int32

  /// Begins the file beside its place. With `replaces` one that is there may go.
  init(_ path: String, replaces: Bool = false) throws {
    self.replaces = replaces
    // A link stands for what it leads to, and stays.
    let place = realpath(path, nil).map { real in
      defer { free(real) }
      return String(cString: real)
    }
    var status = stat()
    let isThere = stat(path, &status) == 0
    if isThere, status.st_mode & S_IFMT == S_IFDIR {
      throw Failure(.exists, "\(path) is a folder, and a file is to be written.")
    }
    if !isThere, !replaces, lstat(path, &status) == 0 {
      throw Failure(.exists, "\(path) is a link that leads nowhere.", advice: "--force replaces it.")
    }
    let isPlain = !isThere || status.st_mode & S_IFMT == S_IFREG
    if isThere, isPlain, !replaces {
      throw Failure(.exists, "There is a file \(path) already.", advice: "--force replaces it.")
    }
    if isThere, isPlain, Self.isStore(path) {
      throw Failure(
        .exists, "\(path) is a store, which no other file takes the place of.",
        advice: "Another name can be given; or remove the store first.")
    }
    self.path = place ?? path
    if isPlain {
      Leftovers.remove(beside: self.path, prefix: Leftovers.dumps)
      let draft = Leftovers.name(Leftovers.dumps, beside: self.path)
      self.draft = draft
      let code: Int32
      (descriptor, code) = Interruption.makeDraft(draft) {
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        return (descriptor, errno)
      }
      if descriptor < 0 {
        Interruption.discard(draft)
        throw OutputError(code: code, name: path)
      }
      _ = flock(descriptor, LOCK_EX | LOCK_NB)
    } else {
      draft = nil
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
      if descriptor < 0 { throw OutputError(code: errno, name: path) }
    }
    output = Output(descriptor: descriptor, name: path)
  }

  deinit { discard() }

  /// Whether the file begins as stores do, those of Apple's Core Data too.
  private static func isStore(_ path: String) -> Bool {
    guard let handle = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? handle.close() }
    let start = (try? handle.read(upToCount: 20)) ?? Data()
    return start.count == 20 && start.suffix(4).elementsEqual([0xDE, 0xC0, 0xEF, 0xBE])
      || start.starts(with: Array("SQLite format 3\0".utf8))
  }

  /// Gives the file, which is on the disk then, its name.
  func finish() throws {
    try output.flush()
    if draft != nil, fsync(descriptor) != 0 { throw OutputError(code: errno, name: path) }
    let code = close(descriptor)
    descriptor = -1
    if code != 0 { throw OutputError(code: errno, name: path) }
    guard let draft else { return }
    let named = Interruption.publish(draft, as: path, replacing: replaces)
    if named != 0 { throw OutputError(code: named, name: path) }
  }

  /// Removes what there is of it, unless it has its name.
  func discard() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    if let draft { Interruption.discard(draft) }
  }
}
