#include <map>
#include <vector>
#include "sial/operations/operations.hpp"
namespace ob::sial {
namespace {
// d[labels] op= sum over other labels of f(b1, b2): over all labels of all views
void loop(const View& d, const ConstView* b1, const ConstView* b2, bool product, double f1, double f2, Assign how) {
  std::map<std::uint32_t, std::int64_t> extents; 
  auto note=[&](auto& v){ for(unsigned i=0;i<v.rank;++i) if(!(v.simple>>i&1)) extents[v.labels[i]]=v.extents[i]; };
  note(d); if(b1) note(*b1); if(b2) note(*b2);
  std::map<std::uint32_t, std::int64_t> at; std::vector<std::uint32_t> order;
  for(auto&[l,e]:extents){ at[l]=0; order.push_back(l); if(e==0) return; }
  auto off=[&](auto& v){ std::int64_t o=0; for(unsigned i=0;i<v.rank;++i) if(!(v.simple>>i&1)) o+=at[v.labels[i]]*v.strides[i]; return o; };
  std::map<std::int64_t,double> sum;
  for(;;){
    double x=b1? b1->data[off(*b1)]:0; double y=b2? b2->data[off(*b2)]:0;
    double r = b2==nullptr ? f1*x : product ? x*y : f1*x+f2*y;
    sum[off(d)]+=r;
    std::size_t i=0; for(;i<order.size();++i){ if(++at[order[i]]<extents[order[i]]) break; at[order[i]]=0; }
    if(i==order.size()) break;
  }
  for(auto&[o,v]:sum){ double& t=d.data[o]; switch(how){case Assign::set:t=v;break;case Assign::add:t+=v;break;case Assign::subtract:t-=v;break;case Assign::multiply:t*=v;break;} }
}
}
void fill(const View& d,double s,Assign how){
  std::array<std::int64_t,kMaxRank> at{}; if(d.elements()==0) return;
  for(;;){ std::int64_t o=0; for(unsigned i=0;i<d.rank;++i) o+=at[i]*d.strides[i];
    double& t=d.data[o]; switch(how){case Assign::set:t=s;break;case Assign::add:t+=s;break;case Assign::subtract:t-=s;break;case Assign::multiply:t*=s;break;}
    unsigned i=0; for(;i<d.rank;++i){ if(++at[i]<d.extents[i]) break; at[i]=0;} if(i==d.rank) break; }
}
void copy(const View& d,const ConstView& b,double f,Assign how,Scratch&){
  // repeated labels: by position
  View dd=d; ConstView bb=b; bool repeated=false;
  for(unsigned i=0;i<d.rank;++i) for(unsigned j=0;j<i;++j) if(d.labels[i]==d.labels[j]) repeated=true;
  if(repeated) for(unsigned i=0;i<d.rank;++i) dd.labels[i]=bb.labels[i]=i;
  loop(dd,&bb,nullptr,false,f,0,how); }
void add(const View& d,const ConstView& x,const ConstView& y,Scratch&){ View dd=d; ConstView xx=x,yy=y; for(unsigned i=0;i<d.rank;++i) dd.labels[i]=xx.labels[i]=yy.labels[i]=i; loop(dd,&xx,&yy,false,1,1,Assign::set); }
void subtract(const View& d,const ConstView& x,const ConstView& y,Scratch&){ View dd=d; ConstView xx=x,yy=y; for(unsigned i=0;i<d.rank;++i) dd.labels[i]=xx.labels[i]=yy.labels[i]=i; loop(dd,&xx,&yy,false,1,-1,Assign::set); }
void outer(const View& d,const ConstView& x,const ConstView& y,Assign h,Scratch&){ loop(d,&x,&y,true,1,1,h); }
void contract(const View& d,const ConstView& x,const ConstView& y,Assign h,Gemm&,Scratch&){ loop(d,&x,&y,true,1,1,h); }
double inner_product(const ConstView& x,const ConstView& y){ double r=0; View d; d.data=&r; d.rank=0; loop(d,&x,&y,true,1,1,Assign::set); return r; }
}
