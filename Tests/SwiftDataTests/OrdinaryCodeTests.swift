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
  struct Place: Codable {
    struct Spot: Codable {
      var latitude = 0.0
      var isExact = false
    }
    enum Kind: String, Codable, CaseIterable {
      case shop, market, web
      /// As the raw value, but for one.
      var title: String { self == .market ? "Market" : rawValue }
    }
    var city: String
    var zip: Int?
    var isOpen = false
    var floors = 0
    var shops = 0
    var kind = Kind.shop
    var kindName = ""
    var spot: Spot?
    enum CodingKeys: String, CodingKey {
      case city = "town"
      case zip, isOpen, floors, shops, kind, kindName, spot
    }
    var shortName: String { city.lowercased() }
    var zipOrNone: Int { zip ?? -1 }
    var country: String { ["Oslo": "Norway"][city]! }
    var either: Int { isOpen ? floors : shops }
    var more: Int { max(floors, shops) }
  }
  @Model final class Purchase {
    var shown: Place? { number > 1 ? place : nil }
    var moved: Place? {
      var place = place
      place?.zip = 0
      return place
    }
    var label: String { place?.city ?? "none" }
    var cost: Double { price ?? 0 }
    var number: Int
    var price: Double?
    var grade: Grade
    var place: Place?
    var buyer: Buyer?
    @Relationship(deleteRule: .cascade, inverse: \PurchaseLine.purchase) var lines: [PurchaseLine] = []
    init(_ number: Int, price: Double? = nil, grade: Grade = .low) {
      self.number = number
      self.price = price
      self.grade = grade
    }
  }
  struct Strict: Codable {
    let latitude: Double
    let name: String
    init(latitude: Double, name: String) {
      precondition((-90...90).contains(latitude))
      (self.latitude, self.name) = (latitude, name)
    }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        latitude: try container.decode(Double.self, forKey: .latitude),
        name: try container.decode(String.self, forKey: .name))
    }
  }
  @Model final class Mark {
    var number: Int
    var place: Strict?
    init(_ number: Int, _ place: Strict?) { (self.number, self.place) = (number, place) }
  }
  @Model final class PurchaseLine {
    var purchase: Purchase
    init(_ purchase: Purchase) { self.purchase = purchase }
  }
  @Model final class Buyer {
    var grade: Grade
    var home = Place(city: "")
    var marks: [Int]?
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

  @Test("S68: the fields of an optional struct order a fetch, through a relationship and another struct, too")
  func orderByOptionalStruct() throws {
    let context = try Ordinary.makeContext()
    for number in 1...3 {
      let purchase = Purchase(number)
      purchase.place = Ordinary.Place(city: "c\(4 - number)", zip: number == 2 ? nil : 10 - number)
      purchase.place?.spot = Ordinary.Place.Spot(latitude: number == 1 ? 7 : -Double(number))
      purchase.place?.shops = number == 2 ? 1 : 0
      purchase.place?.kind = [.shop, .market, .web][number - 1]
      purchase.place?.kindName = ["shop", "market", "web"][number - 1]
      purchase.buyer = Ordinary.Buyer(.low)
      purchase.buyer?.home.city = "d\(number == 1 ? 5 : number)"
      context.insert(purchase)
    }
    context.insert(Purchase(4))
    func numbers(_ sorts: SortDescriptor<Purchase>...) throws -> [Int] {
      try context.fetch(FetchDescriptor<Purchase>(sortBy: sorts)).map(\.number)
    }
    for _ in 0..<2 {
      #expect(try numbers(SortDescriptor(\.place?.city)) == [4, 3, 2, 1])
      #expect(try numbers(SortDescriptor(\.place?.zip), SortDescriptor(\.number)) == [2, 4, 3, 1])
      #expect(try numbers(SortDescriptor(\.place?.spot?.latitude)) == [4, 3, 2, 1])
      #expect(try numbers(SortDescriptor(\.place?.shops), SortDescriptor(\.number)) == [4, 1, 3, 2])
      #expect(try numbers(SortDescriptor(\.place?.kindName, order: .reverse)) == [3, 1, 2, 4])
      #expect(try numbers(SortDescriptor(\.buyer?.home.city)) == [4, 2, 3, 1])
      try context.save()
    }
    for sort in [
      SortDescriptor(\Purchase.place?.shortName), SortDescriptor(\Purchase.place?.city.count),
      SortDescriptor(\Purchase.place?.zipOrNone), SortDescriptor(\Purchase.place?.country),
      SortDescriptor(\Purchase.shown?.city), SortDescriptor(\Purchase.moved?.zip),
      SortDescriptor(\Purchase.label),
      SortDescriptor(\Purchase.buyer?.home.zipOrNone),
      SortDescriptor(\Purchase.place?.kind.rawValue), SortDescriptor(\Purchase.place?.kind.title),
      SortDescriptor(\Purchase.place?.more),
      SortDescriptor(\Purchase.place?.either),
    ] {
      let error = #expect(throws: SwiftDataError.self) { try numbers(sort) }
      #expect(error == .unsupportedSortDescriptor)
    }
  }

  @Test("S68: a struct whose initialiser refuses values, or stops the process, orders a fetch by its fields")
  func orderByStrictStruct() throws {
    let context = ModelContext(
      try ModelContainer(
        for: Ordinary.Mark.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    for (number, name) in ["b", "a", nil].enumerated() {
      context.insert(Ordinary.Mark(number, name.map { Ordinary.Strict(latitude: Double(number), name: $0) }))
    }
    for _ in 0..<2 {
      let found = try context.fetch(FetchDescriptor<Ordinary.Mark>(sortBy: [SortDescriptor(\.place?.name)]))
      #expect(found.map(\.number) == [2, 1, 0])
      try context.save()
    }
  }

  @Test("P5: a computed property that stands for nil is refused; one that is unwrapped is the stored one")
  func computedForNil() throws {
    let context = try Ordinary.makeContext()
    context.insert(Purchase(1, price: 2))
    context.insert(Purchase(2, price: 1))
    let unwrapped = FetchDescriptor<Purchase>(sortBy: [SortDescriptor(\.price!)])
    #expect(try context.fetch(unwrapped).map(\.number) == [2, 1])
    context.insert(Purchase(3))
    for _ in 0..<2 {
      #expect(throws: SwiftDataError.unsupportedSortDescriptor) {
        try context.fetch(FetchDescriptor<Purchase>(sortBy: [SortDescriptor(\.cost)]))
      }
      #expect(throws: SwiftDataError.unsupportedPredicate) {
        try context.fetch(FetchDescriptor<Purchase>(predicate: #Predicate { $0.cost == 0 }))
      }
      try context.save()
    }
  }

  @Test("P7: a sort descriptor that is refused reports no damaged values")
  func refusedOrderIsQuiet() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let context = try Ordinary.makeContext()
      context.insert(Ordinary.Purchase(1))
      for sort in [
        SortDescriptor(\Ordinary.Purchase.buyer?.marks?.count),
        SortDescriptor(\Ordinary.Purchase.place?.shortName),
      ] {
        _ = try? context.fetch(FetchDescriptor<Ordinary.Purchase>(sortBy: [sort]))
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(!text.contains("cannot be decoded"), "\(text)")
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

  @Test("K7: required relationships of models that another context has deleted lead where they led")
  func requiredRelationshipOfTheDeadElsewhere() throws {
    let context = try Ordinary.makeContext()
    let line = try line(in: context)
    let purchase = line.purchase
    #expect(purchase.number == 7)
    let other = ModelContext(context.container)
    other.delete(other.model(for: purchase.persistentModelID))
    try other.save()
    #expect(!context.hasChanges)
    #expect(line.modelContext == nil && purchase.modelContext == nil)
    #expect(line.purchase === purchase && purchase.number == 7)
  }

  @Test("K7: a relationship of a model that is in no context any more is set in memory")
  func relationshipsOfTheDead() throws {
    let context = try Ordinary.makeContext()
    let purchase = Purchase(1)
    purchase.buyer = Ordinary.Buyer(.low)
    context.insert(purchase)
    try context.save()
    context.delete(purchase)
    try context.save()
    let buyer = Ordinary.Buyer(.high)
    context.insert(buyer)
    purchase.buyer = buyer
    purchase.lines.append(Ordinary.PurchaseLine(purchase))
    #expect(purchase.buyer === buyer && purchase.lines.count == 1)
    purchase.buyer = nil
    #expect(purchase.buyer == nil)
    purchase.buyer = buyer
    try context.save()
    #expect(buyer.purchases.isEmpty)
    context.insert(purchase)
    try context.save()
    #expect(purchase.buyer === buyer && buyer.purchases == [purchase])
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
