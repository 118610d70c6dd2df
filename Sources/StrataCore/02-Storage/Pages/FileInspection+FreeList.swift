import Foundation

/// The free list: which pages the next commits may overwrite.
///
/// Its keys are transaction numbers, its values lists of page numbers: a count, then that many numbers in
/// descending order. A list may leave room at its end.
extension PageWalk {
  /// Walks the free list's tree and checks every list against everything walked before.
  func walkFreeList() throws {
    try walk(anchor.freeTree, .free, namedIn: nil) { node, page in
      let transaction = node.key.loadUnaligned(as: UInt64.self)
      guard transaction >= 1, transaction <= anchor.transactionID else {
        throw damage(page, "pages are free since transaction \(transaction), which has not happened")
      }
      guard node.valueCount >= 8, node.valueCount & 7 == 0 else {
        throw damage(page, "a list of free pages is \(node.valueCount) bytes long")
      }
      let capacity = node.valueCount / 8 - 1
      if node.flags & NodeFlags.overflow == 0 {
        try checkList(node.value, capacity, page)
      } else {
        try checkLongList(node, capacity, page)
      }
    }
  }

  private func checkList(_ bytes: UnsafeRawBufferPointer, _ capacity: Int, _ page: UInt64) throws {
    let count = try checkCount(bytes.loadUnaligned(as: UInt64.self), capacity, page)
    var previous = UInt64.max
    for index in 0..<count {
      let free = bytes.loadUnaligned(fromByteOffset: 8 * (index + 1), as: UInt64.self)
      try checkFree(free, after: previous, page)
      previous = free
    }
  }

  /// Reads a list from its overflow pages, a piece at a time.
  private func checkLongList(_ node: Node, _ capacity: Int, _ page: UInt64) throws {
    let start = Int(node.value.loadUnaligned(as: UInt64.self)) * pageSize + PageHeader.size
    var piece = [UInt64](repeating: 0, count: 4096)
    var left = 1
    var offset = start
    var previous = UInt64.max
    var isFirst = true
    while left > 0 {
      let wanted = min(left, piece.count)
      let count = try piece.withUnsafeMutableBytes {
        try inspection.read(UnsafeMutableRawBufferPointer(rebasing: $0[..<(8 * wanted)]), at: offset)
      }
      guard count == 8 * wanted else { throw damage(page, "a list of free pages cannot be read to its end") }
      offset += count
      if isFirst {
        isFirst = false
        left = try checkCount(piece[0], capacity, page)
        continue
      }
      for free in piece[..<wanted] {
        try checkFree(free, after: previous, page)
        previous = free
      }
      left -= wanted
    }
  }

  private func checkCount(_ count: UInt64, _ capacity: Int, _ page: UInt64) throws -> Int {
    guard count <= UInt64(capacity) else {
      throw damage(page, "a list of free pages has room for \(capacity) and is said to hold \(count)")
    }
    return Int(count)
  }

  private func checkFree(_ free: UInt64, after previous: UInt64, _ page: UInt64) throws {
    guard free < previous else { throw damage(page, "its list of free pages is not sorted") }
    guard free >= 2, free <= anchor.lastPage else {
      throw damage(page, "its list of free pages has number \(free), and the last page is \(anchor.lastPage)")
    }
    guard used.insert(free) else {
      throw damage(page, "it calls page \(free) free, which is used or listed twice")
    }
  }
}

/// A set of page numbers: one bit for every page of the parts of the file that have any, and a list of the few
/// pages beyond its end. A sparse file costs 8 bytes for each 2¹⁸ pages until some of them are put in.
struct PageSet {
  /// Bits for 2¹⁸ pages; empty until one of them is put in.
  private var chunks: [[UInt64]]
  private let filePages: UInt64
  private var beyond: Set<UInt64> = []
  private static let chunkShift: UInt64 = 18

  init(filePages: Int) {
    self.filePages = UInt64(filePages)
    chunks = [[UInt64]](repeating: [], count: filePages >> Int(Self.chunkShift) + 1)
  }

  /// Puts a page in; false when it was there.
  @discardableResult
  mutating func insert(_ page: UInt64) -> Bool {
    guard page < filePages else { return beyond.insert(page).inserted }
    let chunk = Int(page >> Self.chunkShift)
    if chunks[chunk].isEmpty {
      chunks[chunk] = [UInt64](repeating: 0, count: 1 << Int(Self.chunkShift - 6))
    }
    let word = Int(page >> 6) & (1 << Int(Self.chunkShift - 6) - 1)
    let bit = UInt64(1) << (page & 63)
    if chunks[chunk][word] & bit != 0 { return false }
    chunks[chunk][word] |= bit
    return true
  }

  /// Whether a page was put in.
  func contains(_ page: UInt64) -> Bool {
    guard page < filePages else { return beyond.contains(page) }
    let chunk = chunks[Int(page >> Self.chunkShift)]
    if chunk.isEmpty { return false }
    return chunk[Int(page >> 6) & (1 << Int(Self.chunkShift - 6) - 1)] & UInt64(1) << (page & 63) != 0
  }
}
