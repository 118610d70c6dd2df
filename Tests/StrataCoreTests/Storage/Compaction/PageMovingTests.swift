import CLMDBShim
import Foundation
import Testing

@testable import StrataCore

@Suite("Pages at the end of the file are moved")
struct PageMovingTests {
  /// The newest commit, and what its pages are.
  private struct Commit {
    let anchor: MetaPage
    let source: PageSource
    /// By the number of a branch the pages that it leads to.
    private(set) var branches: [UInt64: [UInt64]] = [:]
    private(set) var leaves: Set<UInt64> = []

    init(_ environment: Environment, _ descriptor: Int32) throws {
      source = PageSource(file: environment.file, descriptor: descriptor)
      let (newest, pageSize) = try environment.read {
        (UInt64(mdb_txn_id($0.handle)), try Int($0.statistics(Keyspace(handle: 0, name: "")).ms_psize))
      }
      anchor = try #require(try source.anchor(of: newest, pageSize: pageSize))
      try visit(anchor.mainTree.root)
    }

    private mutating func visit(_ number: UInt64) throws {
      let page = try source.page(number, in: anchor)
      try page.withUnsafeBytes { bytes in
        let base = try #require(bytes.baseAddress)
        let isBranch = PageHeader(base).flags == PageFlags.branch
        if !isBranch { leaves.insert(number) }
        for index in 0..<PageHeader(base).entryCount {
          let offset = PageHeader.offset(base, index)
          let node = NodeHeader(base + offset)
          if isBranch {
            branches[number, default: []].append(node.child)
            try visit(node.child)
          } else if node.flags & NodeFlags.keyspace != 0 {
            let tree = TreeRecord(base + offset + NodeHeader.size + node.keyCount)
            if tree.root != TreeRecord.noPage { try visit(tree.root) }
          }
        }
      }
    }

    /// The pages of trees from a boundary on.
    func high(_ boundary: UInt64) -> Set<UInt64> {
      leaves.union(branches.keys).filter { $0 >= boundary }
    }
  }

  private func move(_ environment: Environment, _ commit: Commit, from boundary: UInt64) throws {
    try environment.put(environment.keyspace("other"), "nudge", "")
    let pages = try environment.settleFreePages()
    let commit = try Commit(environment, commit.source.descriptor)
    let survey = try PageSurvey(commit.anchor, commit.source, boundary: boundary) {}
    var moving = try PageMoving(
      survey, of: environment, usable: pages.usable, boundary: Int(boundary), pageCount: pages.pageCount)
    try moving.run { _ in }
    #expect(moving.stuckCount == 0)
  }

  @Test("a branch that lies behind all of its leaves")
  func highBranch() throws {
    try withEnvironment { environment in
      let (other, rows) = (try environment.keyspace("other"), try environment.keyspace("rows"))
      try environment.write { transaction in
        for number in 0..<4_000 {
          try transaction.put(other, CompactedStore.key(number), CompactedStore.value(number))
        }
      }
      try environment.write { transaction in
        // The transaction ends with the entry for which a branch was split: its new half is the newest page.
        var number = 0
        while try transaction.read.statistics(rows).ms_branch_pages < 4 {
          try transaction.put(
            rows, String(format: "%08d", number), CompactedStore.value(number), append: true)
          number += 1
        }
      }
      try environment.write { try $0.clear(other) }
      let descriptor = open(environment.path, O_RDONLY)
      defer { close(descriptor) }
      let before = try Commit(environment, descriptor)
      let branch = try #require(before.branches.keys.max())
      try #require(before.branches[branch]?.allSatisfy { $0 < branch } == true)
      let entries = try environment.read { try $0.entryCount(rows) }
      try move(environment, before, from: branch)
      let after = try Commit(environment, descriptor)
      #expect(after.high(branch).isDisjoint(with: before.high(branch)))
      #expect(try environment.read { try $0.entryCount(rows) } == entries)
      try environment.requireSound()
    }
  }

  @Test("who looks for places of one length goes on where the last one was, and finds the same")
  func placesOfOneLength() throws {
    var random = SeededGenerator(seed: testSeed())
    for _ in 0..<rounds(100, long: 2_000) {
      let count = Int.random(in: 1..<500, using: &random)
      var bits = PageBits(count: count)
      var members: Set<Int> = []
      let density = Int.random(in: 1...9, using: &random)
      for page in 0..<count where Int.random(in: 0..<10, using: &random) < density {
        bits.insert(page)
        members.insert(page)
      }
      /// The first place, and nothing is remembered.
      func reference(_ size: Int, endingBy limit: Int) -> Int? {
        let first = (0..<count).first { start in
          start + size <= limit && (start..<start + size).allSatisfy(members.contains)
        }
        if let first { members.subtract(first..<first + size) }
        return first
      }
      for size in [7, 3, 2, 1] {
        var start = 0
        for limit in (0..<20).map({ _ in Int.random(in: 0...count, using: &random) }).sorted() {
          let found = bits.take(size, endingBy: limit, from: &start)
          #expect(found == reference(size, endingBy: limit), "size \(size), limit \(limit)")
        }
      }
      #expect(bits.members(below: count).map(Int.init) == members.sorted())
    }
  }

  @Test("whoever ends the moving while places are looked for has moved nothing")
  func endsEarly() throws {
    struct End: Error {}
    try withEnvironment { environment in
      let (other, rows) = (try environment.keyspace("other"), try environment.keyspace("rows"))
      try environment.write { transaction in
        for number in 0..<500 {
          try transaction.put(other, CompactedStore.key(number), CompactedStore.value(number))
        }
      }
      try environment.write { transaction in
        // Each takes several pages.
        for number in 0..<20 {
          try transaction.put(
            rows, CompactedStore.key(number), String(repeating: "v", count: 10_000 + number * 1_000))
        }
      }
      try environment.write { try $0.clear(other) }
      let descriptor = open(environment.path, O_RDONLY)
      defer { close(descriptor) }
      try environment.put(other, "nudge", "")
      let pages = try environment.settleFreePages()
      let commit = try Commit(environment, descriptor)
      let survey = try PageSurvey(commit.anchor, commit.source, boundary: 40) {}
      try #require(survey.long.count > 10)
      var moving = try PageMoving(
        survey, of: environment, usable: pages.usable, boundary: 40, pageCount: pages.pageCount)
      var looks = 0
      #expect(throws: End.self) {
        try moving.run { count in
          #expect(count == 0)
          looks += 1
          if looks == 3 { throw End() }
        }
      }
      #expect(looks == 3 && moving.movedCount == 0)
      try environment.requireSound()
    }
  }

  @Test("whatever lies there: leaves, branches, lists of keyspaces")
  func anything() throws {
    var random = SeededGenerator(seed: testSeed())
    for _ in 0..<rounds(6, long: 200) {
      try withEnvironment { environment in
        let left = try CompactedStore.fill(
          environment, count: Int.random(in: 2_000..<5_000, using: &random),
          keeping: Int.random(in: 4..<12, using: &random))
        let descriptor = open(environment.path, O_RDONLY)
        defer { close(descriptor) }
        let before = try Commit(environment, descriptor)
        let pages = before.high(0).sorted()
        let boundary = pages[pages.count * Int.random(in: 50..<99, using: &random) / 100]
        try move(environment, before, from: boundary)
        let after = try Commit(environment, descriptor)
        let stayed = after.high(boundary).intersection(before.high(boundary))
        #expect(stayed.isEmpty, "boundary \(boundary) of \(before.anchor.lastPage): \(stayed.sorted())")
        try CompactedStore.require(left, in: environment)
        try environment.requireSound()
      }
    }
  }
}
