import Foundation

/// The pages of a file that is not trusted, by plain reads: nothing is mapped.
///
/// Unlike `FileInspection`, which refuses a file at the first contradiction, this goes on to the next page.
final class DamagedFile {
  let file: StoreFile
  let size: Int
  let pageSize: Int
  /// The anchors that make sense, the newest first.
  let anchors: [MetaPage]
  /// Pages that could not be read or make no sense where they are needed; at most 1,000.
  private(set) var unreadablePages: [UInt64] = []
  /// Pages of trees that were walked.
  var visited: PageSet
  /// Overflow pages of values that a tree led to: whatever lies there, it is no page of a tree.
  var values: PageSet

  private let descriptor: Int32

  #if canImport(Darwin)
    private static let seekData = SEEK_DATA
  #else
    // SEEK_DATA of the kernel's interface; the C library hides its name from Swift.
    private static let seekData: Int32 = 3
  #endif

  /// Opens the file for reading only.
  ///
  /// - Throws: ``StorageError`` `.missing`; `.permission`; `.notADatabase` for what is no plain file, or holds
  ///   neither an anchor nor a page.
  init(_ file: StoreFile) throws {
    self.file = file
    // Non-blocking: a pipe must not hang us.
    descriptor = file.system.open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open for reading", path: file.path) }
    do {
      let status = try file.system.statusOfDescriptor(descriptor).get()
      guard status.kind == .regular else {
        throw StorageError(
          .notADatabase, operation: "salvage", path: file.path,
          detail: "There is a \(status.kind.rawValue) where the store should be.")
      }
      size = status.size
      let reader = PageReader(file: file, descriptor: descriptor, size: size)
      (pageSize, anchors) = try reader.findAnchors()
      let filePages = size / pageSize
      let lastPage = anchors.map { $0.lastPage }.max().map { Int(clamping: $0) } ?? filePages
      visited = PageSet(filePages: min(filePages, max(lastPage, 1) + 1))
      values = visited
    } catch {
      _ = file.system.close(descriptor)
      throw (error as? FileSystem.Code).map { StorageError($0.number, "fstat", path: file.path) } ?? error
    }
  }

  deinit { _ = file.system.close(descriptor) }

  private var reader: PageReader { PageReader(file: file, descriptor: descriptor, size: size) }

  /// How many whole pages there are.
  var pageCount: UInt64 { UInt64(size / pageSize) }

  /// The bytes of a page; nil when the medium or the file does not give them.
  func page(_ number: UInt64) -> DamagedPage? {
    guard number < pageCount, let bytes = reader.bytes(at: Int(number) * pageSize, count: pageSize) else {
      return nil
    }
    return DamagedPage(bytes: bytes, place: number)
  }

  /// The value of an entry, from its page or from its overflow pages; nil when those are not what they should be.
  func value(of entry: DamagedPage.Entry) -> [UInt8]? {
    guard let first = entry.overflowPage else { return entry.value }
    guard let run = overflowRun(first, byteCount: entry.valueCount) else { return nil }
    return reader.bytes(at: Int(run.lowerBound) * pageSize + PageHeader.size, count: entry.valueCount)
  }

  /// The pages of an overflow run that can hold a value of that length; nil when there is no such run.
  func overflowRun(_ first: UInt64, byteCount: Int) -> Range<UInt64>? {
    let needed = UInt64((PageHeader.size + byteCount + pageSize - 1) / pageSize)
    guard first >= 2, first < pageCount, needed <= pageCount,
      let header = reader.bytes(at: Int(first) * pageSize, count: PageHeader.size)
    else { return nil }
    let run = header.withUnsafeBytes { PageHeader($0.baseAddress!) }  // Never nil: 16 bytes.
    guard run.number == first, run.flags == PageFlags.overflow, run.pageCount >= needed,
      Int(first) * pageSize + PageHeader.size + byteCount <= size
    else { return nil }
    return first..<(first + needed)
  }

  func noteUnreadable(_ page: UInt64) {
    if unreadablePages.count < 1_000 { unreadablePages.append(page) }
  }

  /// Calls `body` with every page that may be a leaf, also with those that trees led to: a damaged pointer may have
  /// led the wrong one there. Holes of the file are skipped.
  func forEachLoosePage(_ body: (DamagedPage) throws -> Void) rethrows {
    var number: UInt64 = 2
    while number < pageCount {
      // Where the system knows no holes it answers with the place itself, or refuses.
      let data = lseek(descriptor, off_t(Int(number) * pageSize), DamagedFile.seekData)
      if data < 0 && errno == ENXIO { return }
      if data > 0 { number = max(number, UInt64(data) / UInt64(pageSize)) }
      guard number < pageCount else { return }
      if !values.contains(number), let page = page(number), page.mayBeLeaf { try body(page) }
      number += 1
    }
  }
}

/// Reads parts of a file; nil for what is not there.
private struct PageReader {
  let file: StoreFile
  let descriptor: Int32
  let size: Int

  func bytes(at offset: Int, count: Int) -> [UInt8]? {
    guard offset >= 0, count >= 0, offset <= size, count <= size - offset else { return nil }
    var isComplete = true
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let read = try? FileInspection(file: file, descriptor: descriptor)
        .read(UnsafeMutableRawBufferPointer(buffer), at: offset)
      isComplete = read == count
      initialized = isComplete ? count : 0
    }
    return isComplete ? bytes : nil
  }

  /// The page size, and the anchors that make sense.
  func findAnchors() throws -> (Int, [MetaPage]) {
    for pageSize in pageSizes() {
      let anchors = [0, 1].compactMap { anchor($0, pageSize: pageSize) }
      if !anchors.isEmpty { return (pageSize, anchors.sorted { $0.transactionID > $1.transactionID }) }
    }
    // No anchor: the page size in which most pages know their own place.
    let counts = pageSizes().map { size in (size: size, count: knowingPages(size)) }
    guard let best = counts.max(by: { $0.count < $1.count }), best.count > 0 else {
      throw StorageError(
        .notADatabase, operation: "salvage", path: file.path,
        detail: "There is nothing to salvage: the file has neither an anchor nor a page of a store.")
    }
    return (best.size, [])
  }

  private func pageSizes() -> [Int] {
    var sizes: [Int] = []
    var size = MetaPage.pageSizes.lowerBound
    while size <= MetaPage.pageSizes.upperBound {
      sizes.append(size)
      size *= 2
    }
    return sizes
  }

  private func anchor(_ number: Int, pageSize: Int) -> MetaPage? {
    guard let bytes = bytes(at: number * pageSize, count: MetaPage.size) else { return nil }
    let anchor = bytes.withUnsafeBytes { MetaPage($0.baseAddress!) }  // Never nil: 152 bytes.
    guard anchor.magic == MetaPage.magic, anchor.version == MetaPage.version, anchor.pageSize == pageSize,
      anchor.pageNumber == UInt64(number), anchor.pageFlags == PageFlags.meta,
      anchor.transactionID == 0 || anchor.transactionID & 1 == UInt64(number),
      anchor.lastPage >= 1, anchor.lastPage < UInt64(1) << 47 / UInt64(pageSize),
      anchor.mainTree.flags == 0, anchor.freeTree.flags & ~0x4001 == 0x08
    else { return nil }
    return anchor
  }

  private func knowingPages(_ pageSize: Int) -> Int {
    (2..<max(2, min(size / pageSize, 4096))).count { number in
      guard let bytes = bytes(at: number * pageSize, count: PageHeader.size) else { return false }
      let head = bytes.withUnsafeBytes { PageHeader($0.baseAddress!) }  // Never nil: 16 bytes.
      return head.number == UInt64(number)
        && [PageFlags.leaf, PageFlags.branch, PageFlags.overflow].contains(head.flags)
    }
  }
}
