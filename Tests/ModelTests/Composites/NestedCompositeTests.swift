import Foundation
import StrataModels
import Testing
import TortureKit

@Composite struct ShopPlace: Codable, Hashable, Sendable {
  var latitude: Double
  var longitude: Double
  var note: String?
}

@Composite struct ShopAddress: Codable, Hashable, Sendable {
  var city: String?
  var place: ShopPlace?
  var floor = 0
}

@Managed final class Shop: ManagedObject {
  var number = 0
  var address = ShopAddress(floor: 3)
  var branch: ShopAddress?
}

@Suite("Composites within composites that may be nil")
struct NestedCompositeTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  static let addresses = [
    ShopAddress(floor: 0), ShopAddress(city: "Ulm", place: ShopPlace(latitude: 1, longitude: 2), floor: 1),
    ShopAddress(city: "Bonn", floor: 2),
    ShopAddress(place: ShopPlace(latitude: 3, longitude: 2, note: "yard"), floor: 3),
  ]

  private func shops() async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Shop.self, at: folder.url("shops.strata"))
    try await container.background { context in
      for (number, address) in Self.addresses.enumerated() {
        let shop = Shop(context: context)
        (shop.number, shop.address) = (number, address)
        if number > 1 { shop.branch = Self.addresses[number - 1] }
      }
    }
    return container
  }

  @Test("What is saved is read again, and may become nil and a value")
  func values() async throws {
    let container = try await shops()
    try await container.performBackgroundTask { context throws in
      let shops = try context.fetch(Shop.self, sortedBy: \.number)
      #expect(shops.map(\.address) == Self.addresses)
      #expect(shops.map(\.branch) == [nil, nil, Self.addresses[1], Self.addresses[2]])
      shops[1].address.place = nil
      shops[2].address.place = ShopPlace(latitude: 8, longitude: 9)
      try context.save()
      context.refreshAllObjects()
      #expect(shops[1].address == ShopAddress(city: "Ulm", floor: 1))
      #expect(shops[2].address.place == ShopPlace(latitude: 8, longitude: 9))
      #expect(shops[2].value(forKeyPath: "address.place.latitude") as? Double == 8)
    }
  }

  @Test("Predicates, orders and values name what is in them, and the whole")
  func asking() async throws {
    let container = try await shops()
    try await container.performBackgroundTask { context throws in
      func numbers(_ condition: Predicate<Shop>) throws -> [Int] {
        try context.fetch(Shop.self, where: condition, sortedBy: \.number).map(\.number)
      }
      #expect(try numbers(#Predicate<Shop> { $0.address.place?.latitude == 1 }) == [1])
      #expect(try numbers(#Predicate<Shop> { $0.address.place == nil }) == [0, 2])
      #expect(try numbers(#Predicate<Shop> { $0.address.place != nil }) == [1, 3])
      #expect(try numbers(#Predicate<Shop> { $0.address.place?.note == "yard" }) == [3])
      #expect(try numbers(#Predicate<Shop> { $0.branch?.place?.longitude == 2 }) == [2])
      let (place, whole) = (ShopPlace(latitude: 1, longitude: 2), Self.addresses[2])
      #expect(try numbers(#Predicate<Shop> { $0.address.place == place }) == [1])
      #expect(try numbers(#Predicate<Shop> { $0.address == whole }) == [2])
      let latitudes: [Double?] = try context.fetch(
        Shop.self, values: \.address.place?.latitude, sortedBy: \.number)
      #expect(latitudes == [nil, 1, nil, 3])
      let places: [ShopPlace?] = try context.fetch(Shop.self, values: \.address.place, sortedBy: \.number)
      #expect(places == Self.addresses.map(\.place))
      let order = try context.fetch(Shop.self, sortedBy: .reverse(\.address.place?.latitude)).map(\.number)
      #expect(order.prefix(2) == [3, 1])
    }
  }
}
