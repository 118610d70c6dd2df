import Foundation
import SwiftData
import Testing

/// Models and requests as programs have them that were not written with this package in mind.
enum Ordinary {
  /// Of which nothing tells the cases.
  enum Grade: Int, Codable, Comparable {
    case low = 0, mid, high
    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }
  @Model final class Purchase {
    var number: Int
    var price: Double?
    var grade: Grade
    var buyer: Buyer?
    @Relationship(deleteRule: .cascade, inverse: \PurchaseLine.purchase) var lines: [PurchaseLine] = []
    init(_ number: Int, price: Double? = nil, grade: Grade = .low) {
      self.number = number
      self.price = price
      self.grade = grade
    }
  }
  @Model final class PurchaseLine {
    var purchase: Purchase
    init(_ purchase: Purchase) { self.purchase = purchase }
  }
  @Model final class Buyer {
    var grade: Grade
    @Relationship(inverse: \Purchase.buyer) var purchases: [Purchase] = []
    init(_ grade: Grade) { self.grade = grade }
  }

  static func makeContext() throws -> ModelContext {
    let context = ModelContext(
      try ModelContainer(
        for: Purchase.self, PurchaseLine.self, Buyer.self,
        configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    return context
  }
}

@Suite("Ordinary code")
struct OrdinaryCodeTests {
  typealias Purchase = Ordinary.Purchase

  @Test("P2: an optional Double is compared with a number, before and after the save")
  func optionalDouble() throws {
    let context = try Ordinary.makeContext()
    context.insert(Purchase(1, price: 1.5))
    context.insert(Purchase(2))
    let (wanted, none): (Double?, Double?) = (1.5, nil)
    let prices: [Double?] = [1.5, 2.5]
    func numbers(_ predicate: Predicate<Purchase>) throws -> Set<Int> {
      Set(try context.fetch(FetchDescriptor(predicate: predicate)).map(\.number))
    }
    for _ in 0..<2 {
      #expect(try numbers(#Predicate { $0.price == 1.5 }) == [1])
      #expect(try numbers(#Predicate { $0.price == wanted }) == [1])
      #expect(try numbers(#Predicate { $0.price == none }) == [2])
      #expect(try numbers(#Predicate { $0.price != 1.5 }) == [2])
      #expect(try numbers(#Predicate { prices.contains($0.price) }) == [1])
      try context.save()
    }
  }

  @Test(
    "P7: an order by an enumeration whose cases are not told is refused, but for the stored property itself")
  func orderByEnumeration() throws {
    let context = try Ordinary.makeContext()
    for (number, grade) in [Ordinary.Grade.high, .low, .mid].enumerated() {
      let purchase = Purchase(number, grade: grade)
      purchase.buyer = Ordinary.Buyer(grade)
      context.insert(purchase)
    }
    func numbers(_ sort: SortDescriptor<Purchase>) throws -> [Int] {
      try context.fetch(FetchDescriptor<Purchase>(sortBy: [sort])).map(\.number)
    }
    #expect(try numbers(SortDescriptor(\.grade)) == [1, 2, 0])
    for sort in [
      SortDescriptor(\Purchase.grade.rawValue), SortDescriptor(\Purchase.buyer?.grade),
      SortDescriptor(\Purchase.buyer?.grade.rawValue),
    ] {
      let error = #expect(throws: SwiftDataError.self) { try numbers(sort) }
      #expect(error == .unsupportedSortDescriptor)
    }
  }

  /// A saved line that was read.
  private func line(in context: ModelContext) throws -> Ordinary.PurchaseLine {
    let line = Ordinary.PurchaseLine(Purchase(7))
    context.insert(line)
    try context.save()
    #expect(line.purchase.number == 7)
    return line
  }

  @Test("K7: a required relationship of a deleted model leads where it led")
  func requiredRelationshipOfTheDead() throws {
    let context = try Ordinary.makeContext()
    let deleted = try line(in: context)
    context.delete(deleted)
    try context.save()
    #expect(deleted.purchase.number == 7)
    let cascaded = try line(in: context)
    context.delete(cascaded.purchase)
    #expect(cascaded.purchase.number == 7)
    try context.save()
    #expect(cascaded.purchase.number == 7)
    let rolledBack = Ordinary.PurchaseLine(Purchase(8))
    context.insert(rolledBack)
    context.rollback()
    #expect(rolledBack.purchase.number == 8)
    let unsaved = Ordinary.PurchaseLine(Purchase(9))
    context.insert(unsaved)
    context.delete(unsaved)
    try context.save()
    #expect(unsaved.purchase.number == 9)
  }

  @Test("K7: nobody keeps deleted models that lead to each other")
  func theDeadAreFreed() throws {
    let context = try Ordinary.makeContext()
    let gone = Gone()
    func use(_ end: (Ordinary.PurchaseLine) throws -> Void, isSaved: Bool = true) throws {
      let line = Ordinary.PurchaseLine(Purchase(7))
      context.insert(line)
      if isSaved { try context.save() }
      #expect(line.purchase.lines.count == 1)
      gone.line = line
      gone.purchase = line.purchase
      try end(line)
      #expect(line.purchase.number == 7)
    }
    try use {
      context.delete($0)
      try context.save()
    }
    #expect(gone.line == nil && gone.purchase == nil, "deleted")
    try use {
      context.delete($0.purchase)
      try context.save()
    }
    #expect(gone.line == nil && gone.purchase == nil, "cascaded")
    try use({ _ in context.rollback() }, isSaved: false)
    #expect(gone.line == nil && gone.purchase == nil, "rolled back")
    try use {
      context.delete($0)
      context.rollback()
    }
    try context.save()
    #expect(gone.line == nil && gone.purchase == nil, "deleted and rolled back")
  }

  private final class Gone {
    weak var line: Ordinary.PurchaseLine?
    weak var purchase: Purchase?
  }
}
