import CLMDBShim
import Foundation

/// A note in the file that it was closed in order, and after which commit. The next opening need not look at every page.
///
/// It counts only while nothing has happened to the file since: the newest commit, the file itself, its size and
/// its time of change are those in the note. Every commit, every copy, every write by whomever makes it void, so that
/// it never has to be removed, and a save costs nothing. It is not flushed: one that is lost costs a walk.
///
/// It lies 512 bytes behind the start of the *older* anchor's page, in a sector of its own. LMDB neither reads nor
/// writes there, and the page is the one that the next commit will touch anyway.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 512 | 8 | 0x4E41454C43525453, “STRCLEAN” |
/// | 520 | 8 | transaction number of the newest anchor |
/// | 528 | 8 | device |
/// | 536 | 8 | inode |
/// | 544 | 8 | size of the file |
/// | 552 | 8 | time of change, seconds since 1970 |
/// | 560 | 8 | and nanoseconds |
/// | 568 | 8 | checksum: the words before, each xored in and multiplied by 0x100000001B3, from the first one on |
struct CleanMark: Equatable {
  private static let offset = 512
  private static let word: UInt64 = 0x4E41_454C_4352_5453

  /// What it speaks of.
  let transactionID: UInt64
  let status: FileSystem.Status

  private static func place(after anchor: MetaPage) -> Int {
    Int((anchor.transactionID &+ 1) & 1) * anchor.pageSize + offset
  }

  private var words: [UInt64] {
    var words = [
      Self.word, transactionID, status.identity.device, status.identity.inode,
      UInt64(truncatingIfNeeded: status.size), UInt64(bitPattern: status.modified.seconds),
      UInt64(bitPattern: status.modified.nanoseconds),
    ]
    words.append(words.dropFirst().reduce(words[0]) { ($0 ^ $1) &* 0x100_0000_01B3 })
    return words.map(\.littleEndian)
  }

  /// Whether the file in `inspection` is just as it was when it was closed in order, after the commit of `anchor`.
  static func holds(_ inspection: FileInspection, _ anchor: MetaPage) throws -> Bool {
    let system = inspection.file.system
    guard case .success(let status) = system.statusOfDescriptor(inspection.descriptor) else { return false }
    let expected = CleanMark(transactionID: anchor.transactionID, status: status).words
    var found = [UInt64](repeating: 0, count: expected.count)
    let count = try found.withUnsafeMutableBytes {
      try inspection.read($0, at: place(after: anchor))
    }
    return count == expected.count * 8 && found == expected
  }

  /// Leaves the note in a file of which everything is flushed. When that fails there is none.
  static func leave(in inspection: FileInspection) {
    let system = inspection.file.system
    let descriptor = inspection.descriptor
    guard let bytes = try? inspection.readAnchors(),
      case .success(var status) = system.statusOfDescriptor(descriptor),
      let anchor = try? inspection.newestAnchor(bytes, fileSize: status.size),
      (try? holds(inspection, anchor)) == false
    else { return }
    // A moment that the system itself, which counts in larger steps, would hardly choose.
    status.modified = .now
    let written = CleanMark(transactionID: anchor.transactionID, status: status).words.withUnsafeBytes {
      system.write(descriptor, $0, place(after: anchor))
    }
    // Writing has changed the time; until it is set the note does not count.
    if written == 64 { _ = system.setModified(descriptor, status.modified) }
  }
}

extension Environment {
  /// Notes that the store was closed in order. With the gate shut.
  func markClean(_ environment: OpaquePointer) {
    if isReadOnly || options.isTemporary || !options.flushesCommits || isRefused { return }
    // What `.relaxed` has not flushed yet is flushed now.
    guard options.durability == .full || mdb_env_sync(environment, 1) == 0 else { return }
    var descriptor: mdb_filehandle_t = -1
    guard mdb_env_get_fd(environment, &descriptor) == 0 else { return }
    CleanMark.leave(in: FileInspection(file: file, descriptor: descriptor))
  }
}
