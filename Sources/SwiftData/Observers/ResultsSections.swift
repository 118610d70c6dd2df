/// The results that have one title.
public struct ResultsSection<Element, SectionName>: RandomAccessCollection, Identifiable
where SectionName: Hashable {
  /// The title.
  public let id: SectionName
  private let elements: [Element]

  init(_ name: SectionName, _ elements: [Element]) {
    id = name
    self.elements = elements
  }

  /// The title.
  public var name: SectionName { id }
  public var startIndex: Int { elements.startIndex }
  public var endIndex: Int { elements.endIndex }
  public subscript(position: Int) -> Element { elements[position] }
}

/// The sections of results, in the order in which their titles come.
public struct SectionedResults<Element, SectionTitle>: RandomAccessCollection, Equatable
where Element: PersistentModel, SectionTitle: Hashable {
  private let sections: [ResultsSection<Element, SectionTitle>]

  init(_ elements: [Element], _ title: (Element) -> SectionTitle) {
    var places: [SectionTitle: Int] = [:]
    var groups: [(title: SectionTitle, elements: [Element])] = []
    for element in elements {
      let title = title(element)
      if let place = places[title] {
        groups[place].elements.append(element)
      } else {
        places[title] = groups.count
        groups.append((title, [element]))
      }
    }
    sections = groups.map { ResultsSection($0.title, $0.elements) }
  }

  public var startIndex: Int { sections.startIndex }
  public var endIndex: Int { sections.endIndex }
  public subscript(position: Int) -> ResultsSection<Element, SectionTitle> { sections[position] }

  /// Whether the same models are in the same sections.
  public static func == (lhs: SectionedResults, rhs: SectionedResults) -> Bool {
    lhs.count == rhs.count && zip(lhs, rhs).allSatisfy { $0.id == $1.id && $0.elementsEqual($1) }
  }
}

@available(*, unavailable, message: "the models belong to their context")
extension ResultsSection: Sendable {}
@available(*, unavailable, message: "the models belong to their context")
extension SectionedResults: Sendable {}
