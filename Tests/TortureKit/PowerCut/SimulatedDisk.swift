/// A disk that promises no more than it must: what was not flushed may be there or not, in any combination.
///
///     file content     what the last flush of the file left  +  any of the writes since, each torn at 512 bytes
///     file size        as far as the surviving writes reach, or anything up to what the program made it
///     names            as the last flush of the folder left them  +  any of the changes since
///
/// Assumed are sectors of 512 bytes that are written whole or not at all, and a flush that is honest. Files whose own format allows for it are torn into smaller
/// pieces.
public struct SimulatedDisk: Sendable {
  public static let sectorSize = 512

  /// What a file may still lose.
  enum Change: Sendable {
    /// A piece of a write that lies in one sector.
    case piece(offset: Int, bytes: ArraySlice<UInt8>)
    case truncated(Int)
  }

  struct File: Sendable {
    var durable: [UInt8] = []
    /// Since the last flush, in order. Those that were durable at once are kept in their place, but certain.
    var pending: [(change: Change, isCertain: Bool)] = []
    /// How many of `pending` a flush has refused, the first ones: no later flush makes sure of them.
    var refused = 0
    /// What the program has made of its size.
    var size = 0
    /// Bytes that are written whole or not at all.
    var tear = SimulatedDisk.sectorSize
  }

  enum NameChange: Sendable {
    case created(String, Int)
    case renamed(String, String)
    case exchanged(String, String)
    case unlinked(String)
  }

  let folder: String
  /// Whether flushing does nothing, as on a disk that lies: for the test of the test.
  let ignoresFlushes: Bool
  /// By the end of a file's name, how it is torn: powers of two, up to a sector.
  let tears: [String: Int]
  private(set) var files: [File] = []
  private var fileByInode: [UInt64: Int] = [:]
  private var folderInodes: Set<UInt64> = []
  private(set) var durableNames: [String: Int] = [:]
  private(set) var pendingNames: [NameChange] = []
  /// What the program itself sees.
  private var names: [String: Int] = [:]

  /// An empty folder.
  public init(folder: String, ignoresFlushes: Bool = false, tears: [String: Int] = [:]) {
    self.folder = folder
    self.ignoresFlushes = ignoresFlushes
    self.tears = tears
  }

  /// A folder in which files lie already.
  public init(folder: String, files contents: [String: [UInt8]], tears: [String: Int] = [:]) {
    self.init(folder: folder, tears: tears)
    for (name, bytes) in contents {
      names[name] = files.count
      files.append(File(durable: bytes, size: bytes.count, tear: tear(name)))
    }
    durableNames = names
  }

  /// Lets something happen.
  public mutating func apply(_ event: DiskEvent) throws {
    switch event {
    case .marked: break
    case .opened(let path, let inode, let isNew, let isCut):
      if path == folder {
        folderInodes.insert(inode)
        return
      }
      if isNew {
        let name = try name(path)
        files.append(File(tear: tear(name)))
        // The number may have belonged to a file that is gone.
        fileByInode[inode] = files.count - 1
        names[name] = files.count - 1
        pendingNames.append(.created(name, files.count - 1))
      } else {
        if fileByInode[inode] == nil { fileByInode[inode] = names[try name(path)] }
        if isCut { try truncate(inode, 0) }
      }
    case .written(let inode, let offset, let bytes, let isDurable):
      try write(file(inode), offset, bytes, isDurable: isDurable && !ignoresFlushes)
    case .truncated(let inode, let size): try truncate(inode, size)
    case .synced(let inode):
      if ignoresFlushes { return }
      if folderInodes.contains(inode) {
        durableNames = Self.apply(pendingNames, to: durableNames)
        pendingNames = []
      } else {
        flush(try file(inode))
      }
    case .refused(let inode):
      if folderInodes.contains(inode) { return }
      let file = try file(inode)
      files[file].refused = files[file].pending.count
    case .renamed(let from, let to):
      let (from, to) = (try name(from), try name(to))
      guard let file = names.removeValue(forKey: from) else { throw unknown(from) }
      names[to] = file
      pendingNames.append(.renamed(from, to))
    case .exchanged(let first, let second):
      let (first, second) = (try name(first), try name(second))
      guard let file = names[first] else { throw unknown(first) }
      guard let other = names[second] else { throw unknown(second) }
      (names[first], names[second]) = (other, file)
      pendingNames.append(.exchanged(first, second))
    case .unlinked(let path):
      let name = try name(path)
      guard names.removeValue(forKey: name) != nil else { throw unknown(name) }
      pendingNames.append(.unlinked(name))
    }
  }

  // MARK: Files

  private func file(_ inode: UInt64) throws -> Int {
    guard let file = fileByInode[inode] else { throw unknown("inode \(inode)") }
    return file
  }

  private func name(_ path: String) throws -> String {
    guard path.hasPrefix(folder + "/") else { throw unknown(path) }
    return String(path.dropFirst(folder.count + 1))
  }

  private func tear(_ name: String) -> Int {
    tears.first { name.hasSuffix($0.key) }?.value ?? Self.sectorSize
  }

  private func unknown(_ what: String) -> TortureViolation {
    TortureViolation("the record of the disk has no beginning for \(what)")
  }

  private mutating func write(_ file: Int, _ offset: Int, _ bytes: [UInt8], isDurable: Bool) {
    files[file].size = max(files[file].size, offset + bytes.count)
    files[file].pending += Self.pieces(offset, bytes, files[file].tear).map { ($0, isDurable) }
  }

  private mutating func truncate(_ inode: UInt64, _ size: Int) throws {
    let file = try file(inode)
    files[file].size = size
    files[file].pending.append((.truncated(size), false))
  }

  private mutating func flush(_ file: Int) {
    guard files[file].refused > 0 else {
      for (change, _) in files[file].pending { Self.apply(change, to: &files[file].durable) }
      files[file].pending = []
      return
    }
    // What was refused stays open until something certain lies over it.
    for index in files[file].pending.indices.dropFirst(files[file].refused) {
      files[file].pending[index].isCertain = true
    }
    var covered: Set<Int> = []
    var kept: [(change: Change, isCertain: Bool)] = []
    var refused = 0
    for (index, item) in files[file].pending.enumerated().reversed() {
      guard case .piece(let offset, let bytes) = item.change else {
        kept.append(item)
        if index < files[file].refused { refused += 1 }
        continue
      }
      let place = offset / files[file].tear
      if covered.contains(place) { continue }
      if item.isCertain && bytes.count == files[file].tear { covered.insert(place) }
      kept.append(item)
      if index < files[file].refused { refused += 1 }
    }
    files[file].pending = kept.reversed()
    files[file].refused = refused
    if refused == 0 { flush(file) }
  }

  /// Cuts a write where sectors end, or smaller pieces.
  private static func pieces(_ offset: Int, _ bytes: [UInt8], _ tear: Int) -> [Change] {
    var pieces: [Change] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + tear - (offset + start) % tear)
      pieces.append(.piece(offset: offset + start, bytes: bytes[start..<end]))
      start = end
    }
    return pieces
  }

  static func apply(_ change: Change, to content: inout [UInt8]) {
    switch change {
    case .truncated(let size): resize(&content, size)
    case .piece(let offset, let bytes):
      if content.count < offset + bytes.count { resize(&content, offset + bytes.count) }
      content.withUnsafeMutableBytes { target in
        bytes.withUnsafeBytes { target[offset..<(offset + bytes.count)].copyBytes(from: $0) }
      }
    }
  }

  static func resize(_ content: inout [UInt8], _ size: Int) {
    if size < content.count {
      content.removeLast(content.count - size)
    } else {
      content += [UInt8](repeating: 0, count: size - content.count)
    }
  }

  static func apply(_ changes: some Sequence<NameChange>, to names: [String: Int]) -> [String: Int] {
    var names = names
    for change in changes {
      switch change {
      case .created(let name, let file): names[name] = file
      case .renamed(let from, let to):
        // When the creation was lost there is nothing to rename.
        if let file = names.removeValue(forKey: from) { names[to] = file }
      case .exchanged(let first, let second):
        // Without the creation of either, the other one is renamed.
        (names[first], names[second]) = (names[second], names[first])
      case .unlinked(let name): names[name] = nil
      }
    }
    return names
  }
}
