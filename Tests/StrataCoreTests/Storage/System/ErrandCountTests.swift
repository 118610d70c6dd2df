import Testing

@testable import StrataCore

/// Whether those who wait for somebody to let go of a store have reason to.
@Suite("Errands that hold something")
struct ErrandCountTests {
  @Test("Work of any queue but the main one counts until it is done")
  func elsewhere() {
    let count = ErrandCount()
    #expect(!count.areUnderWay)
    count.add(isForMainQueue: false)
    count.add(isForMainQueue: false)
    count.remove(isForMainQueue: false)
    #expect(count.areUnderWay)
    count.remove(isForMainQueue: false)
    #expect(!count.areUnderWay)
  }

  @Test("Work of a main queue that nothing serves does not count; from the first that it runs it does")
  func mainQueue() {
    let count = ErrandCount()
    count.add(isForMainQueue: true)
    count.add(isForMainQueue: true)
    #expect(!count.areUnderWay)
    count.noteMainQueue()
    #expect(count.areUnderWay)
    count.remove(isForMainQueue: true)
    #expect(count.areUnderWay)
    count.remove(isForMainQueue: true)
    #expect(!count.areUnderWay)
    count.add(isForMainQueue: true)
    #expect(count.areUnderWay, "it is served")
  }
}
