import Foundation

/// What is salvaged: the store's file itself, or, of a store that was not closed, a copy that was recovered from the log. The store's own files are only read.
struct RecoveredCopy {
  /// The file to read.
  let file: StoreFile
  /// Why saves that only the log has are missing; nil when none are.
  private(set) var remark: String?
  private var draft: StoreDraft?

  /// - Throws: ``StorageError`` when the copy cannot be written, or the files cannot be read. Damage is no reason.
  init(of source: StoreFile, beside target: StoreFile) throws {
    // With the turn no other process opens the store, and writes to both files, while they are copied.
    guard try Self.needsLog(source),
      let (turn, _, _) = try LogTurn.open(source, until: .now.advanced(by: .seconds(30)))
    else {
      file = source
      return
    }
    defer { turn.end() }
    guard try Self.needsLog(source) else {
      file = source
      return
    }
    let draft = StoreDraft(.salvage, beside: target)
    do {
      try source.copyBytes(to: draft.file.path)
      draft.hold()
      let log = StoreFile(path: source.logPath, directory: source.directory, system: source.system)
      try log.copyBytes(to: draft.file.logPath)
      guard let status = try draft.file.status() else {
        throw StorageError(ENOENT, "lstat", path: draft.file.path)
      }
      let registry = EnvironmentRegistry.current
      try registry.reserve(status.identity, path: draft.file.path, until: .now.advanced(by: .seconds(30)))
      defer { registry.settle(status.identity, nil) }
      try FileSizeLimit.withoutSignal {
        try LogRecovery.settle(draft.file, status.identity, options: EnvironmentOptions())
      }.turn?.end()
      (file, self.draft) = (draft.file, draft)
    } catch let error as StorageError where [.damaged, .truncated, .notADatabase].contains(error.kind) {
      draft.remove()
      file = source
      remark = "The store was not closed, and its last saves could not be taken from its log: \(error.detail)"
    } catch {
      draft.remove()
      throw error
    }
  }

  /// Whether it is another file than the store's.
  var isCopy: Bool { draft != nil }

  func remove() { draft?.remove() }

  /// Whether the file is not whole without the log beside it. A process that has it open makes it whole.
  private static func needsLog(_ source: StoreFile) throws -> Bool {
    guard let status = try source.status(), status.kind == .regular else { return false }
    let data = source.system.open(source.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if data < 0 { return false }
    defer { _ = source.system.close(data) }
    guard case .success(let log) = source.system.status(source.logPath), log.kind == .regular else {
      return false
    }
    do {
      return try LogRecovery.isUnclosed(source, data, status.identity)
    } catch let error as StorageError where error.kind == .damaged {
      return true
    }
  }
}
