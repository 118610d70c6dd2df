import Foundation

/// A look at a store's bytes before LMDB maps them.
///
/// LMDB trusts its file: damage means a fatal signal. So the anchors, the trees and the free list are walked
/// with plain reads first, and whatever LMDB would follow blindly is checked. The file is never written.
///
/// What is checked: both anchors; every reachable page's number, kind, depth and node offsets; keys of 1 to
/// 511 bytes, in order; values inside their pages; overflow runs long enough; no page used twice; the free
/// list sorted and apart from all of it; entry counts. A file may be shorter than its last page, and an
/// overflow run longer than its value: LMDB leaves both behind.
///
/// Measured on 243 MiB in the page cache with two million entries: 0.4 ms per MiB for the full walk, more than
/// half of it copying by the kernel; 1 ms in all for the quick one. One bit of memory per page.
struct FileInspection {
  /// The file's names, for messages and calls.
  let file: StoreFile
  /// The data file, open for reading.
  let descriptor: Int32
  /// Without it a file that holds anything is another program's.
  var requiredKeyspace: String?

  /// A larger file is walked in full only once while another process keeps changing it.
  private static let patientWalkLimit = 1 << 30

  /// Walks the file as `policy` says.
  ///
  /// When another process commits during the walk, pages may change under it; then it walks again, and in
  /// the end looks at the anchors only.
  /// - Throws: `StorageError` `.notADatabase`, `.damaged`, `.truncated`, `.unsupportedFormat` with the page
  ///   and the reason; `.io`.
  func run(_ policy: EnvironmentOptions.Inspection) throws {
    if policy == .none { return }
    for attempt in 0... {
      let before = try readAnchors()
      do {
        let size = try fileSize()
        let anchor = try newestAnchor(before, fileSize: size)
        let attempts = size <= FileInspection.patientWalkLimit ? 4 : 1
        let isFull = try attempt < attempts && needsFullWalk(policy, anchor)
        try PageWalk(self, anchor, fileSize: size).run(everyPage: isFull)
        return
      } catch let error as StorageError {
        // Whoever commits has used the page again. On a busy machine that can happen many times in a row.
        let isMoving = try readAnchors() != before
        guard isMoving, attempt < Self.mostAttempts else { throw error }
        usleep(2_000 << UInt32(min(attempt, 5)))
      }
    }
  }

  private static let mostAttempts = 64

  private func needsFullWalk(_ policy: EnvironmentOptions.Inspection, _ anchor: MetaPage) throws -> Bool {
    switch policy {
    case .none, .quick: false
    case .automatic: try !CleanMark.holds(self, anchor)
    case .full: true
    }
  }

  /// Reads `count` bytes at `offset` into `buffer`; how many there were.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = file.system.read(descriptor, rest, offset + done)
      if count < 0 { throw StorageError(Int32(-count), "pread", path: file.path) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// The error for bytes that contradict themselves.
  func damage(_ page: UInt64?, _ reason: String, kind: StorageError.Kind = .damaged) -> StorageError {
    let place = page.map { "Page \($0): " } ?? ""
    return StorageError(
      kind, operation: "inspection", path: file.path, page: page,
      detail: "The store is \(kind == .truncated ? "cut off" : "damaged"). \(place)\(reason).")
  }

  private func fileSize() throws -> Int {
    switch file.system.statusOfDescriptor(descriptor) {
    case .success(let status): return status.size
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.path)
    }
  }
}

extension Environment {
  /// Looks at the file at `path` without opening it as a store. Of one that was not closed it sees the last checkpoint, and the log.
  static func inspect(
    path: String, _ policy: EnvironmentOptions.Inspection, fileSystem: FileSystem = .system
  ) throws {
    let file = try StoreFile(path, fileSystem)
    guard let status = try file.status() else { throw StorageError(ENOENT, "lstat", path: file.path) }
    try file.check(status)
    let descriptor = fileSystem.open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open for reading", path: file.path) }
    defer { _ = fileSystem.close(descriptor) }
    while true {
      let seen = try LogRecovery.asRecovered(file, descriptor, status.identity)
      do {
        return try FileInspection(file: seen.file, descriptor: descriptor).run(policy)
      } catch let error as StorageError where seen.head != nil {
        // Another process may have recovered the store meanwhile, and write to it.
        if try LogRecovery.asRecovered(file, descriptor, status.identity).head == seen.head { throw error }
      }
    }
  }
}
