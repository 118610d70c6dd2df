import Foundation
import StrataModels
import Testing
import TortureKit

/// Classes with types of one last name, and names that Strata has, too.
enum SameName {
  final class Slot {}
  struct EntityDeclaration {}
  struct AttributeDescription {}

  protocol Helper: Sendable { var number: Int { get } }
  struct Seven: Helper { var number: Int { 7 } }

  @Managed final class Order: ManagedObject {
    struct State: Codable, Hashable, Sendable { var count = 1 }
    var state = State()
    var states: [State] = [State(count: 4)]
    @Transient var helper: (any Helper)?
    @Transient var action: (@Sendable () -> Int)?
  }

  @Managed final class Payment: ManagedObject {
    struct State: Codable, Hashable, Sendable { var text = "open" }
    var state = State()
    var states: [State] = [State(text: "new")]
  }

  @Composite struct Size: Codable, Hashable, Sendable { var width = 1 }
}

@Suite("Names that several types have")
struct SharedNameTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  @Test(
    "Each attribute keeps values of its own type, though the transformers have one name",
    arguments: [true, false])
  func transformers(_ ordersFirst: Bool) async throws {
    let url = folder.url("shared.strata")
    func container() async throws -> PersistentContainer {
      ordersFirst
        ? try await PersistentContainer(for: SameName.Order.self, SameName.Payment.self, at: url)
        : try await PersistentContainer(for: SameName.Payment.self, SameName.Order.self, at: url)
    }
    let first = try await container()
    try await first.background { context in
      SameName.Order(context: context).state.count = 5
      SameName.Payment(context: context).state.text = "paid"
    }
    let names = first.managedObjectModel.entitiesByName.mapValues {
      ($0.attributesByName["state"])?.valueTransformerName
    }
    #expect(names == ["Order": "Codable<State>", "Payment": "Codable<State>"])
    try first.close()
    let again = try await container()
    try await again.performBackgroundTask { context throws in
      let order = try #require(try context.fetch(SameName.Order.self).first)
      let payment = try #require(try context.fetch(SameName.Payment.self).first)
      #expect(order.state.count == 5 && order.states == [SameName.Order.State(count: 4)])
      #expect(payment.state.text == "paid" && payment.states == [SameName.Payment.State(text: "new")])
      #expect(
        try context.fetch(SameName.Order.self, values: \.state) == [SameName.Order.State(count: 5)])
      #expect(try context.fetch(SameName.Payment.Value.self).map(\.state.text) == ["paid"])
    }
  }

  @Test("Transient properties of existential and function types that may be nil")
  func transient() async throws {
    let container = try await PersistentContainer(
      for: SameName.Order.self, SameName.Payment.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let order = SameName.Order(context: context)
      #expect(order.helper == nil && order.action == nil)
      order.helper = SameName.Seven()
      order.action = { 8 }
      #expect(order.helper?.number == 7 && order.action?() == 8)
      order.helper = nil
      #expect(order.helper == nil)
      context.rollback()
    }
  }
}
