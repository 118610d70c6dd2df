import Foundation

/// The free list of a file, as one anchor has it: which pages may be used again, and since which transaction.
///
/// LMDB uses the pages of a record again once no reader is at its transaction or before it. The walk of the inspection has checked such trees when the file was
/// opened; here they are read once more with all bounds looked at, since what is made of them is written.
struct FreeList {
  /// The pages that one transaction has freed, or what is left of them.
  struct Record {
    let transactionID: UInt64
    /// In descending order.
    let pages: [UInt64]
    /// The entry of the leaf as it lies there: flags, the size of the value, and the value, or the number of its first page.
    let flags: UInt16
    let valueCount: Int
    let stored: [UInt8]
    /// The pages of the value, where it does not lie in the leaf.
    let run: Range<UInt64>
  }

  /// In the order of their transactions.
  private(set) var records: [Record] = []
  /// The branches and leaves of the list's tree.
  private(set) var treePages: [UInt64] = []

  /// How many pages are free, for now or for later.
  var pageCount: Int { records.reduce(0) { $0 + $1.pages.count } }

  private let anchor: MetaPage
  private let source: PageSource

  /// Reads the list.
  /// - Throws: ``StorageError`` `.io`; `.damaged` when it contradicts itself.
  init(_ anchor: MetaPage, _ source: PageSource) throws {
    self.anchor = anchor
    self.source = source
    if anchor.freeTree.root != TreeRecord.noPage {
      try read(anchor.freeTree.root, depth: Int(anchor.freeTree.depth))
    }
  }

  private mutating func read(_ number: UInt64, depth: Int) throws {
    guard (1...PageWalk.depthLimit).contains(depth) else { throw damage(number) }
    let page = try source.page(number, in: anchor)
    treePages.append(number)
    let isLeaf = depth == 1
    try page.withUnsafeBytes { bytes in
      let base = bytes.baseAddress!  // A page is never empty.
      let kind = isLeaf ? PageFlags.leaf : PageFlags.branch
      guard let count = PageHeader.entryCount(base, kind, pageSize: bytes.count) else { throw damage(number) }
      for index in 0..<count {
        let offset = PageHeader.offset(base, index)
        guard offset + NodeHeader.size <= bytes.count else { throw damage(number) }
        let node = NodeHeader(base + offset)
        if isLeaf {
          try readRecord(bytes, offset + NodeHeader.size, node, number)
        } else {
          try read(node.child, depth: depth - 1)
        }
      }
    }
  }

  private mutating func readRecord(
    _ page: UnsafeRawBufferPointer, _ start: Int, _ node: NodeHeader, _ number: UInt64
  ) throws {
    let isLong = node.flags == NodeFlags.overflow
    let size = isLong ? 8 : node.valueCount
    guard node.flags == 0 || isLong, node.keyCount == 8, node.valueCount >= 8, node.valueCount & 7 == 0,
      start + 8 + size <= page.count
    else { throw damage(number) }
    let transactionID = page.loadUnaligned(fromByteOffset: start, as: UInt64.self)
    let stored = Array(page[start + 8..<start + 8 + size])
    guard transactionID > records.last?.transactionID ?? 0, transactionID <= anchor.transactionID else {
      throw damage(number)
    }
    var run: Range<UInt64> = 0..<0
    var value = stored
    if isLong {
      let first = stored.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
      let head = try source.page(first, in: anchor)
      let header = head.withUnsafeBytes { PageHeader($0.baseAddress!) }  // Never empty.
      let needed = (PageHeader.size + node.valueCount + anchor.pageSize - 1) / anchor.pageSize
      guard header.flags == PageFlags.overflow, header.pageCount >= UInt64(needed),
        header.pageCount - 1 <= anchor.lastPage - first
      else { throw damage(first) }
      run = first..<first + header.pageCount
      value = try source.bytes(
        at: Int(first) * anchor.pageSize + PageHeader.size, count: node.valueCount)
    }
    let pages = try value.withUnsafeBytes { bytes -> [UInt64] in
      let count = bytes.loadUnaligned(as: UInt64.self)
      guard count <= UInt64(node.valueCount / 8 - 1) else { throw damage(number) }
      return (0..<Int(count)).map { bytes.loadUnaligned(fromByteOffset: 8 * ($0 + 1), as: UInt64.self) }
    }
    for (index, free) in pages.enumerated() {
      guard free >= 2, free <= anchor.lastPage, index == 0 || free < pages[index - 1] else {
        throw damage(number)
      }
    }
    records.append(
      Record(
        transactionID: transactionID, pages: pages, flags: node.flags, valueCount: node.valueCount,
        stored: stored, run: run))
  }

  private func damage(_ page: UInt64) -> StorageError {
    source.damage(page, "the list of free pages contradicts itself")
  }
}

/// Pages of a file, read through a descriptor.
struct PageSource {
  let file: StoreFile
  let descriptor: Int32

  /// The bytes of a page that an anchor leads to.
  /// - Throws: ``StorageError`` `.io`; `.damaged` when there is no such page, or it has another number.
  func page(_ number: UInt64, in anchor: MetaPage) throws -> [UInt8] {
    guard number >= 2, number <= anchor.lastPage else { throw damage(number, "it is not in the file") }
    let bytes = try bytes(at: Int(number) * anchor.pageSize, count: anchor.pageSize)
    guard bytes.withUnsafeBytes({ $0.loadUnaligned(as: UInt64.self) }) == number else {
      throw damage(number, "it has another number")
    }
    return bytes
  }

  /// - Throws: ``StorageError`` `.io`; `.damaged` where the file ends before.
  func bytes(at offset: Int, count: Int) throws -> [UInt8] {
    var failure = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[done...])
        let got = file.system.read(descriptor, rest, offset + done)
        if got < 0 { failure = -got }
        if got <= 0 { return }
        done += got
      }
    }
    if failure != 0 { throw StorageError(Int32(failure), "pread", path: file.path) }
    guard bytes.count == count else { throw damage(nil, "it ends too early") }
    return bytes
  }

  /// The anchor of a transaction; nil when a later one has overwritten it.
  func anchor(of transactionID: UInt64, pageSize: Int) throws -> MetaPage? {
    let anchor = MetaPage(try bytes(at: Int(transactionID & 1) * pageSize, count: MetaPage.size))
    return anchor.transactionID == transactionID && anchor.magic == MetaPage.magic ? anchor : nil
  }

  func damage(_ page: UInt64?, _ reason: String) -> StorageError {
    StorageError(
      .damaged, operation: "pread", path: file.path, page: page,
      detail: "The store is damaged. \(page.map { "Page \($0)" } ?? "The file"): \(reason).")
  }
}
