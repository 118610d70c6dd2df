import CLMDBShim
import Foundation

/// A store's file that a migration has put another one in the place of, and that stays beside it for a while.
///
/// `Shop.strata` leaves `Shop.strata-before-1`: the number is the first that is free. It is a store as it was, with everything that the
/// migration took away. The store that took its place says which files are its own; a save touches no other. Of a name that is too long for that, the beginning is left.
struct ReplacedFile: Codable, Sendable, Hashable {
  /// The file's name in the store's directory.
  var name: String
  /// By which it is known when a crash has kept it from getting the name.
  var inode: UInt64
}

extension StoreFile {
  /// What the names of replaced files begin with; a number follows. The whole name of the store, and what stands for one that is too long: its beginning, and a number by which it is
  /// told from others that begin in the same way.
  private var replacedPrefixes: (whole: String, short: String) {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    var (start, length) = (String.UnicodeScalarView(), 0)
    for scalar in name.unicodeScalars {
      length += String(scalar).utf8.count
      if length > Self.shortNameLength { break }
      start.append(scalar)
    }
    return ("\(name)-before-", "\(String(start))-\(StoreDraft.mark(of: self))-before-")
  }

  /// How much is left of a store's name that is too long. Short enough for file systems that allow for no more than 143 bytes.
  private static let shortNameLength = 96

  /// What the name of the next replaced file begins with. There must be room for the number, and for the lock file beside it when it is opened.
  private var replacedPrefix: String {
    let prefixes = replacedPrefixes
    let longest = pathconf(directory, Int32(_PC_NAME_MAX))
    let needed = prefixes.whole.utf8.count + "\(UInt32.max)-lock".utf8.count
    return needed <= (longest > 0 ? longest : 255) ? prefixes.whole : prefixes.short
  }

  private func path(of name: String) -> String { (directory == "/" ? "" : directory) + "/" + name }

  /// The file's record, under the first name that is free.
  func makeReplaced() throws -> ReplacedFile {
    guard let status = try status() else { throw StorageError(ENOENT, "lstat", path: path) }
    let prefix = replacedPrefix
    var number = 1
    while case .success = system.status(path(of: prefix + "\(number)")) { number += 1 }
    return ReplacedFile(name: prefix + "\(number)", inode: status.identity.inode)
  }

  /// Where that file lies.
  func path(of replaced: ReplacedFile) -> String { path(of: replaced.name) }

  /// Files that were replaced and have not got their names yet, because a process has died, get them.
  ///
  /// - Parameter replaced: The files that the store has taken the place of.
  func nameReplaced(_ replaced: [ReplacedFile]) throws {
    if replaced.isEmpty { return }
    for path in StoreDraft.exchanged(beside: self) {
      guard case .success(let status) = system.status(path),
        let known = replaced.first(where: { $0.inode == status.identity.inode })
      else { continue }
      let code = system.renameExclusively(path, self.path(of: known))
      if code != 0 { throw StorageError(-code, "rename", path: path) }
    }
  }

  /// The same where the store is too damaged to say which files are its own: those that its name stands for.
  func nameReplacedByName() throws {
    for path in StoreDraft.exchanged(with: self) {
      let code = system.renameExclusively(path, self.path(of: try makeReplaced()))
      if code != 0 { throw StorageError(-code, "rename", path: path) }
    }
  }

  /// Removes these files, as far as they have names of replaced files of this store.
  func remove(_ files: [ReplacedFile]) throws {
    for file in files where isReplacedName(file.name) {
      guard case .success(let status) = system.status(path(of: file)), status.kind == .regular else {
        continue
      }
      try removeReplaced(file.name)
    }
  }

  /// Removes everything under the name of a replaced file: the store itself goes.
  func removeAllReplaced() throws {
    let prefixes = replacedPrefixes
    for prefix in [prefixes.whole, prefixes.short] { try removeAllReplaced(prefix) }
  }

  private func removeAllReplaced(_ prefix: String) throws {
    // One of them may have been removed by hand, so the numbers may have gaps.
    var (number, missing) = (1, 0)
    while missing < 100 {
      let name = prefix + "\(number)"
      if case .success(let status) = system.status(path(of: name)) {
        missing = 0
        if status.kind == .regular { try removeReplaced(name) }
      } else {
        missing += 1
      }
      number += 1
    }
  }

  private func isReplacedName(_ name: String) -> Bool {
    let prefixes = replacedPrefixes
    return [prefixes.whole, prefixes.short].contains { prefix in
      let number = name.dropFirst(prefix.count)
      return name.hasPrefix(prefix) && !number.isEmpty && number.allSatisfy { $0.isASCII && $0.isNumber }
    }
  }

  private func removeReplaced(_ name: String) throws {
    let path = path(of: name)
    for path in [path, path + "-lock", path + "-log"] {
      let code = system.unlink(path)
      // Earlier versions have kept files whose names were too long for a lock file beside them.
      if code != 0, code != -ENOENT, code != -ENAMETOOLONG {
        throw StorageError(-code, "unlink", path: path)
      }
    }
  }
}

extension Environment {
  /// Puts the store under the name `draft` in the place of the one at `destination`, in one step, which lies under the name of `replaced`
  /// then. The caller prevents writes to it meanwhile.
  ///
  /// A crash in between leaves it under the draft's name.
  /// - Throws: `StorageError`; `destination` is what it was then, unless the draft's name says otherwise.
  static func move(_ draft: String, over destination: StoreFile, keeping replaced: ReplacedFile) throws {
    let (system, kept) = (destination.system, destination.path(of: replaced))
    let isExchanged = try withoutLockFile(destination) {
      destination.givePermissions(to: draft)
      let code = system.exchange(draft, destination.path)
      if code == -ENOSYS || code == -EINVAL || code == -ENOTSUP { return false }
      guard code == 0 else { throw StorageError(-code, "rename", path: destination.path) }
      let named = system.renameExclusively(draft, kept)
      if named != 0 {
        // Then nothing has happened.
        _ = system.exchange(draft, destination.path)
        throw StorageError(
          -named, "rename", path: kept, detail: "The old file cannot be kept beside the store.")
      }
      return true
    }
    if !isExchanged { return try moveKeepingCopy(draft, destination, kept) }
    try system.syncDirectory(destination.directory)
  }

  /// Where two names cannot be exchanged in one step, what is kept is a copy.
  private static func moveKeepingCopy(_ draft: String, _ destination: StoreFile, _ kept: String) throws {
    let copy = StoreDraft(.copy, beside: destination)
    do {
      try destination.copyBytes(to: copy.file.path)
      destination.givePermissions(to: copy.file.path)
      // In one piece: a program that is about to end leaves no copy that no store knows.
      let isDone: Void? = try FileMaking.run { try exchange(copy, kept, draft, destination) }
      if isDone == nil { throw StorageError(FileMaking.code, "rename", path: destination.path) }
    } catch {
      copy.remove()
      throw error
    }
  }

  private static func exchange(
    _ copy: StoreDraft, _ kept: String, _ draft: String, _ destination: StoreFile
  ) throws {
    let code = destination.system.rename(copy.file.path, kept)
    if code != 0 { throw StorageError(-code, "rename", path: kept) }
    copy.forget()
    do { try move(draft, over: destination) } catch {
      // Unless the store is the new one already.
      if case .success = destination.system.status(draft) { _ = destination.system.unlink(kept) }
      throw error
    }
  }
}

extension StoreFile {
  /// Writes the file's bytes to a new, flushed file. It must not be written meanwhile.
  func copyBytes(to target: String) throws {
    let source = system.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0)
    if source < 0 { throw StorageError(-source, "open", path: path) }
    defer { _ = system.close(source) }
    let copy = system.open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    if copy < 0 { throw StorageError(-copy, "open", path: target) }
    defer { _ = system.close(copy) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4_096)
    defer { buffer.deallocate() }
    var offset = 0
    while true {
      let count = system.read(source, buffer, offset)
      if count < 0 { throw StorageError(Int32(-count), "pread", path: path) }
      if count == 0 { break }
      try FileSizeLimit.withoutSignal {
        try system.writeAll(
          copy, UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset, path: target)
      }
      offset += count
    }
    let code = system.sync(copy)
    if code != 0 { throw StorageError(-code, "fsync", path: target) }
  }
}
