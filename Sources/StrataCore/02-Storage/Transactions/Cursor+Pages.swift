import CLMDBShim
import Foundation

/// The leaf page of a read transaction on which an entry lies, read in place.
///
/// Stepping through LMDB costs a call and a chain of dependent loads for each entry. The entries of one page are all at hand
/// instead, and those to come can be asked for ahead. Opening has checked that the format is LMDB's 1, see `PageHeader`.
private struct LeafPage {
  let base: UnsafeRawPointer
  let size: Int
  let count: Int

  /// The page that `key` lies on. Nil when it does not look like a leaf with that key: then LMDB steps.
  @inline(__always)
  init?(holding key: UnsafeRawBufferPointer, pageSize: Int) {
    guard let address = key.baseAddress else { return nil }
    // The map and with it each page begins at a multiple of the page size.
    let base = address - (Int(bitPattern: address) & (pageSize - 1))
    guard let count = PageHeader.entryCount(base, PageFlags.leaf, pageSize: pageSize) else { return nil }
    self.base = base
    self.count = count
    size = pageSize
  }

  /// Where the entry with this number begins.
  @inline(__always)
  func node(_ number: Int) -> UnsafeRawPointer {
    base + PageHeader.offset(base, number)
  }

  /// The number of the entry whose key lies here.
  @inline(__always)
  func number(of key: UnsafeRawBufferPointer) -> Int? {
    guard let address = key.baseAddress else { return nil }
    var number = 0
    while number < count {
      if node(number) + NodeHeader.size == address { return number }
      number += 1
    }
    return nil
  }

  /// The entry with this number; nil when its value lies elsewhere, or when it does not lie inside the page.
  @inline(__always)
  func entry(_ number: Int) -> Cursor.Entry? {
    let node = node(number)
    let offset = node - base
    guard offset + NodeHeader.size <= size else { return nil }
    let header = NodeHeader(node)
    guard header.flags == 0, offset + NodeHeader.size + header.keyCount + header.valueCount <= size else {
      return nil
    }
    let key = node + NodeHeader.size
    return Cursor.Entry(
      key: UnsafeRawBufferPointer(start: key, count: header.keyCount),
      value: UnsafeRawBufferPointer(start: key + header.keyCount, count: header.valueCount))
  }
}

extension Cursor {
  /// Calls `body` with `first`, on which the cursor stands, and with all entries that follow it, until it answers false.
  /// Afterwards the cursor stands on one of them.
  ///
  /// In a read transaction a page is walked in place: two calls of LMDB for each page instead of one for each entry.
  @inline(__always)
  mutating func forEach(
    from first: Entry?, ahead: Int = 6, _ body: (Entry) throws -> Bool
  ) throws {
    let pageSize = walkablePageSize
    var next = first
    while let found = next {
      guard pageSize > 0, let page = LeafPage(holding: found.key, pageSize: pageSize),
        let start = page.number(of: found.key)
      else {
        if try !body(found) { return }
        next = try self.next()
        continue
      }
      var number = start
      while number < Swift.min(start + ahead, page.count) {
        strata_prefetch(page.node(number))
        strata_prefetch(page.node(number) + 64)
        number += 1
      }
      number = start
      var last = found
      while number < page.count {
        if number + ahead < page.count {
          strata_prefetch(page.node(number + ahead))
          strata_prefetch(page.node(number + ahead) + 64)
        }
        if let entry = page.entry(number) {
          last = entry
          if try !body(entry) { return }
        } else if let entry = try lookedUp(after: last, isFirst: number == start) {
          last = entry
          if try !body(entry) { return }
        } else {
          return
        }
        number += 1
      }
      next = try step(beyond: last)
    }
  }

  /// How many entries there are from `first` on, on which the cursor stands, up to the first one whose key does not belong to them;
  /// those behind that do not either.
  ///
  /// In a read transaction the entries of a page count by the page's last one.
  mutating func count(from first: Entry?, _ belongs: (UnsafeRawBufferPointer) -> Bool) throws -> Int {
    let pageSize = walkablePageSize
    var count = 0
    var next = first
    while let found = next, belongs(found.key) {
      guard pageSize > 0, let page = LeafPage(holding: found.key, pageSize: pageSize),
        let start = page.number(of: found.key), let last = page.entry(page.count - 1)
      else {
        count += 1
        next = try self.next()
        continue
      }
      if belongs(last.key) {
        count += page.count - start
        next = try step(beyond: last)
        continue
      }
      // What cannot be read in place does not belong: LMDB goes on from the one before it.
      let low = (start + 1..<page.count - 1).partitioningIndex {
        page.entry($0).map { !belongs($0.key) } ?? true
      }
      count += low - start
      guard low < page.count - 1, page.entry(low) == nil, let before = page.entry(low - 1) else {
        return count
      }
      next = try step(beyond: before)
    }
    return count
  }

  /// The size of the pages that can be walked in place; 0 when none can: in a write transaction pages lie anywhere.
  private var walkablePageSize: Int {
    guard firstFailure == nil else { return 0 }
    var statistics = MDB_stat()
    guard mdb_stat(mdb_cursor_txn(handle), mdb_cursor_dbi(handle), &statistics) == 0 else { return 0 }
    let size = Int(statistics.ms_psize)
    // Larger pages than the system's need not begin at a multiple of their size.
    return size <= Int(getpagesize()) ? size : 0
  }

  /// What follows `entry`, by LMDB. The seek finds the entry on the page where the cursor stands.
  @inline(never)
  private mutating func step(beyond entry: Entry) throws -> Entry? {
    guard try seek(exactly: entry.key) != nil else { return nil }
    return try next()
  }

  /// The entry that follows `entry`, or `entry` itself: LMDB looks for values that lie on pages of their own.
  @inline(never)
  private mutating func lookedUp(after entry: Entry, isFirst: Bool) throws -> Entry? {
    let found = try seek(exactly: entry.key)
    return isFirst ? found : try next()
  }
}
