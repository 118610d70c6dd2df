import SwiftData

/// Containers with sample data, as previews of views use them.
@MainActor
struct PreviewStore {
  let container: ModelContainer

  var context: ModelContext { container.mainContext }

  init(_ samples: Samples = .small) {
    do {
      container = try AppStore.inMemory()
      try samples.insert(into: container.mainContext)
    } catch {
      fatalError("the preview's container cannot be made: \(error)")
    }
  }

  enum Samples {
    case empty
    case small
    case many(Int)

    @MainActor
    func insert(into context: ModelContext) throws {
      switch self {
      case .empty:
        break
      case .small:
        SampleData.insertSmall(into: context)
      case .many(let count):
        SampleData.insertMany(count, into: context)
      }
      try context.save()
    }
  }

  /// A site for a preview of one screen.
  func anySite() throws -> Site {
    var descriptor = FetchDescriptor<Site>(sortBy: [SortDescriptor(\.name)])
    descriptor.fetchLimit = 1
    guard let site = try context.fetch(descriptor).first else {
      let made = Site(name: "Nowhere", at: .zero)
      context.insert(made)
      return made
    }
    return site
  }
}
